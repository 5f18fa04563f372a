import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { agents, tasks } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { addWorkers } from "./next.ts";
import { percentilesOf } from "./resource-usage.ts";
import { type Row, seconds } from "./row.ts";

const AGENT = path.resolve(import.meta.dirname, "../support/scripted-agent.mjs");
const BUILD = path.resolve(import.meta.dirname, "../../packages/cli/build.mjs");
const RUNS = 15;
/** The number of files in the repository. Each run gets a worktree with all of them. */
const FILES = 2_000;

/** Measures the time from the start of `board run` to a coding agent's first prompt, compared with only starting that agent. */
export async function benchRunner(place: BenchEnvironment): Promise<Row[]> {
  const { api, db, board, service } = place;
  const folder = mkdtempSync(path.join(tmpdir(), "bench-runner-"));
  try {
    execFileSync(process.execPath, [BUILD, path.join(folder, "dist")]);
    const repository = addRepository(folder);
    const [token] = await addWorkers(place);
    const env = {
      PATH: process.env["PATH"]!,
      HOME: folder,
      XDG_CONFIG_HOME: path.join(folder, "config"),
      XDG_STATE_HOME: path.join(folder, "state"),
      BOARD_URL: service.url,
      BOARD_TOKEN: token!,
    };
    const runner: number[] = [];
    const alone: number[] = [];
    for (let n = 0; n < RUNS; n++) {
      await api("POST", `/api/v1/boards/${board.id}/tasks`, { title: `Task ${n}`, description: "Do it." });
      const prompted = path.join(folder, `prompted-${n}`);
      const script = path.join(folder, "script.json");
      writeFileSync(script, JSON.stringify([{ append: [prompted, "now"] }]));
      const command = [path.join(folder, "dist/board.js"), "run", "--once", "--", process.execPath, AGENT, script];
      runner.push(await measure(prompted, () => spawn(process.execPath, command, { cwd: repository, env, stdio: "ignore" })));
      rmSync(prompted);
      alone.push(await measure(prompted, () => startAgent(script, repository)));
    }
    const [run, agent] = [percentilesOf(runner), percentilesOf(alone)];
    return [
      {
        what: `start of \`board run\` to the first prompt of its agent, ${FILES.toLocaleString("en")} files in a worktree`,
        figure: `p50 ${seconds(run.p50)}, at most ${seconds(Math.max(...runner))}`,
        target: "2 s more than the agent",
        baseline: `the agent alone p50 ${seconds(agent.p50)}`,
        ratio: `${seconds(run.p50 - agent.p50)} more`,
        statements: "",
      },
    ];
  } finally {
    await db.delete(tasks).where(eq(tasks.board_id, board.id));
    await db.delete(agents).where(sql`${agents.name} like 'Taker %'`);
    rmSync(folder, { recursive: true, force: true });
  }
}

function addRepository(folder: string): string {
  const repository = path.join(folder, "repository");
  mkdirSync(repository);
  for (let n = 0; n < FILES; n++) {
    const part = path.join(repository, `part-${n % 50}`);
    mkdirSync(part, { recursive: true });
    writeFileSync(path.join(part, `file-${n}.txt`), `${n}\n`.repeat(200));
  }
  const git = (...args: string[]) => execFileSync("git", args, { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("-c", "user.name=person", "-c", "user.email=person@localhost", "commit", "--quiet", "--message=Begin");
  return repository;
}

/** Starts the agent as a client does and prompts it at once. */
function startAgent(script: string, cwd: string): ChildProcess {
  const child = spawn(process.execPath, [AGENT, script], { cwd, stdio: ["pipe", "ignore", "ignore"] });
  const send = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  send(1, "initialize", { protocolVersion: 1 });
  send(2, "session/new", { cwd, mcpServers: [] });
  send(3, "session/prompt", { sessionId: "scripted", prompt: [{ type: "text", text: "Do it." }] });
  child.stdin.end();
  return child;
}

/** Returns the milliseconds from the start of a process until the agent writes the file, which it does when it has the prompt. */
async function measure(file: string, start: () => ChildProcess): Promise<number> {
  const begun = Date.now();
  const [code] = (await once(start(), "exit")) as [number | null];
  if (code !== 0) throw new Error(`The process exited with ${code}`);
  return statSync(file).mtimeMs - begun;
}
