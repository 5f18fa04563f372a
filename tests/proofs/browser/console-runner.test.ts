/**
 * `board run` with a coding agent, as a person sees it in the console. The agent is scripted, or Claude Code if that is in PATH.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findProgram } from "@board/runner/agent-command";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { buildCommandLine } from "../../runner/runner-fixture.ts";
import { cleanUpPrograms, dataFolder, temporaryFolder } from "../../support/program.ts";
import { startCodingModel } from "../runner/coding-model.ts";
import { type Browser, openBrowser } from "./chromium.ts";
import { type Console, makeBoard, makeTask, openConsole, type Service, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const SCRIPTED_AGENT = path.resolve(import.meta.dirname, "../../support/scripted-agent.mjs");

let browser: Browser;
let service: Service;
let view: Console;

beforeAll(async () => {
  service = await startService(dataFolder(), await freePort());
  browser = await openBrowser();
  view = await openConsole(await browser.createBrowserContext(), service.link);
});
afterAll(async () => {
  await browser?.close();
  await cleanUpPrograms();
});

/** Makes a board with an agent and a repository, and shows the board. */
async function openWork(name: string, title: string) {
  const { id: board_id } = await makeBoard(service.api, name);
  const { auth_token } = await service.api.post("/api/v1/agents", { body: { name: "Milo", board_id } });
  const home = temporaryFolder();
  const repository = path.join(home, "repository");
  mkdirSync(repository);
  writeFileSync(path.join(repository, "lamps.txt"), "14\n");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: repository });
  git("init", "--quiet");
  git("add", "--all");
  git("-c", "user.name=person", "-c", "user.email=person@localhost", "commit", "--quiet", "--message=Begin");
  await view.go(`#/boards/${board_id}`);
  const { id: task_id } = await makeTask(service.api, board_id, title);
  await view.hasCards("inbox", [title]);
  function run(args: string[], environment: Record<string, string> = {}): { printed: () => string } {
    const env = { PATH: process.env["PATH"], HOME: home, TMPDIR: home, BOARD_URL: service.url, BOARD_TOKEN: auth_token! };
    const child = spawn(process.execPath, [buildCommandLine(), "run", "--once", ...args], {
      cwd: repository,
      env: { ...env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part: string) => (text += part));
    return { printed: () => text };
  }
  return { board_id, task_id, home, worktree: path.join(repository, ".board/worktrees", task_id), run };
}

/** Waits for the permission, and allows it by a click on the first option that the agent named. */
async function allowByClick(board_id: string, task_id: string, excerpt: string, printed: () => string): Promise<string> {
  const params = { path: { board_id }, query: { status: "pending" as const } };
  const [approval] = await vi
    .waitUntil(
      async () => {
        const { items } = await service.api.get("/api/v1/boards/{board_id}/approvals", { params });
        return items.length > 0 && items;
      },
      { ...WAIT, timeout: 120_000 },
    )
    .catch((error: unknown) => {
      throw new Error(`No permission was asked for:\n${printed()}`, { cause: error });
    });
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".approval pre", excerpt);
  const options = approval!.payload!["options"] as { name: string; kind: string }[];
  await view.click(options.find(({ kind }) => kind === "allow_once")!.name);
  const task = { path: { board_id, task_id } };
  const { run } = await service.api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task });
  await view.go(`#/boards/${board_id}/tasks/${task_id}/runs/${run!.id}`);
  return run!.id;
}

const readSteps = async (board_id: string, run_id: string) =>
  (await service.api.get("/api/v1/boards/{board_id}/runs/{run_id}/steps", { params: { path: { board_id, run_id } } })).items;

async function seesDiff(path: string): Promise<void> {
  await vi.waitFor(async () => {
    // The details are opened on each attempt, because they may be closed again when new steps arrive.
    await view.page.evaluate(
      'document.querySelectorAll(".run-step details:not([open]) summary").forEach((item) => item.click())',
    );
    expect(await view.text(".run-diff")).toContain(path);
  }, WAIT);
}

test("with the scripted agent a card moves, a click answers a permission, steps are seen within two seconds, and the diff is there", async () => {
  const title = "Count the lamps";
  const { board_id, task_id, home, run } = await openWork("Scripted", title);
  const edit = { toolCallId: "edit", kind: "edit", title: "Edit lamps.txt" };
  const diff = { type: "diff", path: "lamps.txt", oldText: "14\n", newText: "15\n" };
  const titles = ["Read the cellar", "Read the attic", "Read the hall"];
  const script = [
    { permission: { title: "Run the tests", kind: "execute", rawInput: { command: "npm test" } } },
    { sleep: 4_000 },
    ...titles.flatMap((title, n) => [{ tool: { toolCallId: `read-${n}`, kind: "read", title } }, { sleep: 2_500 }]),
    { write: ["lamps.txt", "15\n"] },
    { tool: { ...edit, status: "completed", content: [diff] } },
    { say: "Fifteen lamps." },
  ];
  writeFileSync(path.join(home, "script.json"), JSON.stringify(script));
  const { printed } = run(["--", process.execPath, SCRIPTED_AGENT, path.join(home, "script.json")]);
  await view.hasCards("in_progress", [title]);
  const run_id = await allowByClick(board_id, task_id, "npm test", printed);
  const delays: number[] = [];
  for (const title of titles) {
    await view.sees(".run-steps", title);
    const seen = Date.now();
    const step = (await readSteps(board_id, run_id)).find((found) => "title" in found && found.title === title);
    delays.push(seen - Date.parse(step!.at));
  }
  process.stdout.write(`A step of the agent is seen after ${delays.join(", ")} ms\n`);
  // The median counts, because a busy machine may delay a single step.
  expect(delays.toSorted((one, other) => one - other)[1]).toBeLessThan(2_000);
  await view.sees(".run-steps", "Fifteen lamps.");
  await seesDiff("lamps.txt");
  expect([await view.text(".run-removed"), await view.text(".run-added")]).toEqual(["- 14\n", "+ 15\n"]);
  await view.go(`#/boards/${board_id}`);
  await view.hasCards("review", [title]);
  expect(view.errors).toEqual([]);
});

test.runIf(findProgram("claude-agent-acp", process.env))(
  "with Claude Code a card moves, a click answers a permission, and the diff is there",
  async () => {
    const title = "Write hello.txt";
    const { board_id, task_id, worktree, run } = await openWork("Claude Code", title);
    const command = "git add hello.txt && git -c user.name=agent -c user.email=agent@localhost commit -m Hello";
    const model = await startCodingModel({ file: path.join(worktree, "hello.txt"), text: "Hello", command });
    onTestFinished(() => model.close());
    const { printed } = run(["claude"], {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1",
    });
    await view.hasCards("in_progress", [title]);
    await allowByClick(board_id, task_id, "git add hello.txt", printed);
    await view.sees(".run-steps", "I wrote the file.");
    await seesDiff("hello.txt");
    await view.go(`#/boards/${board_id}`);
    await view.hasCards("review", [title]);
    expect(view.errors).toEqual([]);
  },
);
