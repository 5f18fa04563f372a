import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "@board/api/log";
import { errorText } from "@board/core/log";
import { parseSettings, SettingsError } from "@board/core/settings";
import { iris, juno, milo } from "./demo/cast.ts";
import { playLead } from "./demo/lead.ts";
import { tellWakes } from "./demo/narrator.ts";
import { playPerson } from "./demo/person.ts";
import { createScreen, heading, type Screen } from "./demo/screen.ts";
import { furnish } from "./demo/setting.ts";
import { type Stage, until } from "./demo/stage.ts";
import { playStory } from "./demo/story.ts";
import { createTally } from "./demo/tally.ts";
import { playWorker } from "./demo/worker.ts";
import { startFakeGateway } from "./fake-gateway/server.ts";
import { withSecrets } from "./secrets.ts";
import { startServer } from "./server.ts";
import { fail, say, whyNotStarted } from "./terminal.ts";

/** How long the last tasks may take to be done once the story has ended by itself. */
const EPILOGUE_MS = 40_000;
/** How long the service may take to stop; its data is thrown away in any case. */
const CURTAIN_MS = 1_500;

/** A service on a folder of its own. Of the environment only what cannot touch other data is used. */
async function openService(folder: string) {
  const { PORT, HOST, LOG_LEVEL } = process.env;
  const chosen = { DATA_DIR: folder, PORT: PORT?.trim() || "0", HOST, LOG_LEVEL: LOG_LEVEL?.trim() || "error" };
  const settings = parseSettings(withSecrets(chosen), "local");
  const server = await startServer(settings, createLog(settings.log_level));
  return { server, token: settings.auth.mode === "local" ? settings.auth.token : "" };
}

function introduce(screen: Screen, url: string, token: string): void {
  screen.print(`
${heading("Board coordination: a demo of the whole service in one process")}

  Outside systems post webhooks. Each post is stored before it is answered
  with 202, and wakes the lead agent ${iris.name} through the gateway. ${iris.name} reads it
  through the agent API and makes tasks of it, which ${milo.name} and ${juno.name} work on.
  Nothing is done before ${iris.name} has reviewed it and you have approved; the demo
  does that for you. Now and then the gateway goes down: watch what happens to
  the posts and the messages of that time.

  service    ${url}
  reference  ${url}/docs
  document   ${url}/openapi.json
  token      ${token}

  Look around meanwhile from another terminal, with the token in TOKEN:
  curl -s ${url}/api/v1/boards -H "Authorization: Bearer $TOKEN"

  Everything is real but the gateway's host and the agents' minds.
  Ctrl-C ends it.
`);
}

const NEXT = [
  "npm start                 the service on data that stays",
  "npm run gateway           a host for it, which prints what agents are told",
  "packages/local/src/demo   how all this is called, with the typed client",
  "README.md                 the same with curl, and the map of the code",
];

const section = (screen: Screen, title: string, lines: readonly string[]) =>
  screen.print(`\n${heading(title)}\n\n${lines.map((line) => `  ${line}`).join("\n")}`);

/** Plays all parts at once, until the demo is over or the story has ended and its last task is done. */
async function play(stage: Stage, token: string, gateway_token: string, seconds: number | null): Promise<void> {
  const setting = await furnish(stage, token, gateway_token);
  const { lead, workers } = setting;
  tellWakes(stage, [lead, ...workers]);
  const minds = [playLead(stage, lead), ...workers.map((worker) => playWorker(stage, worker)), playPerson(stage, setting)];
  const story = playStory(stage, setting, seconds).then(() => until(stage, () => stage.tally.isSettled(), EPILOGUE_MS));
  await Promise.race([Promise.all(minds), story]);
}

/** DEMO_SECONDS lets the story last so long, for tests and recordings; its first scene is played and its last task done in any case. */
function readSeconds(): number | null {
  const text = process.env["DEMO_SECONDS"]?.trim();
  if (!text) return null;
  if (!/^\d{1,6}$/.test(text)) throw new SettingsError("DEMO_SECONDS must be a whole number of seconds");
  return Number(text);
}

async function main(): Promise<void> {
  const seconds = readSeconds();
  const folder = mkdtempSync(path.join(tmpdir(), "board-demo-"));
  // Ended during the start, the database is still writing files while its folder goes: hence the repeats.
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }));
  // Somebody who pipes the log into a program that ends has seen enough.
  process.stdout.on("error", () => process.exit(0));
  const curtain = new AbortController();
  let started = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => (started ? curtain.abort() : process.exit(0)));

  say("Starting on a fresh database, which takes a few seconds ...");
  const gateway_token = randomBytes(24).toString("hex");
  const gateway = await startFakeGateway({ token: gateway_token });
  const { server, token } = await openService(folder);
  started = true;
  const screen = createScreen();
  const stage: Stage = { url: server.url, screen, tally: createTally(), gateway, over: curtain.signal };
  introduce(screen, server.url, token);
  try {
    await play(stage, token, gateway_token, seconds);
  } catch (error) {
    if (!stage.over.aborted) fail(`The demo broke off: ${errorText(error)}`);
  }
  curtain.abort();
  const summary = stage.tally.summary();
  if (summary.length > 0) section(screen, "What happened", summary);
  section(screen, "To go on", NEXT);
  screen.print();
  const closed = server.stop().then(() => gateway.close());
  await Promise.race([closed, pause(CURTAIN_MS)]);
  process.exit(0);
}

main().catch((error: unknown) => fail(whyNotStarted(error)));
