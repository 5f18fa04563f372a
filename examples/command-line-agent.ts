// An agent that uses no library, only the program `board`: it takes a task, comments on it and submits it.
// Run: AGENT_TOKEN=… node examples/command-line-agent.ts
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const program = process.env.BOARD_PROGRAM ?? "packages/cli/bin/board.js"; // like `npx board`, but it starts faster

const env = {
  ...process.env,
  BOARD_URL: process.env.BOARD_URL ?? "http://127.0.0.1:8000",
  BOARD_TOKEN: process.env.AGENT_TOKEN!,
};

/** Runs a command. Exit code 2 means that the service refused the request; the reason is JSON on standard error. */
async function board<T>(...args: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [program, ...args, "--json"], { env });
  return JSON.parse(stdout) as T;
}

const { task } = await board<{ task: { id: string; title: string } | null }>("next");
if (task) {
  // `board next` has stored the fence of the lease, and the next commands send it.
  await board("task", "comment", task.id, "12 so far");
  const { status } = await board<{ status: string }>("done", "--comment", "14 lamps");
  console.log(`${task.title}: ${status}`);
}
