// An agent that has no library, only the command line: it takes a task, comments and hands it in by the program `board`.
// Run: AGENT_TOKEN=… node examples/command-line-agent.ts
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const program = process.env.BOARD_PROGRAM ?? "packages/cli/bin/board.js"; // npx board, without the start of npx

const env = {
  ...process.env,
  BOARD_URL: process.env.BOARD_URL ?? "http://127.0.0.1:8000",
  BOARD_TOKEN: process.env.AGENT_TOKEN!,
};

/** Exit code 2 means that the service refused; the reason is JSON on standard error. */
async function board<T>(...args: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [program, ...args, "--json"], { env });
  return JSON.parse(stdout) as T;
}

const { task } = await board<{ task: { id: string; title: string } | null }>("next");
if (task) {
  // The fence of the lease is remembered and sent by the commands that follow.
  await board("task", "comment", task.id, "12 so far");
  const { status } = await board<{ status: string }>("done", "--comment", "14 lamps");
  console.log(`${task.title}: ${status}`);
}
