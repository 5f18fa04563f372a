import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Demo } from "./demo.ts";
import type { DemoBoard } from "./set-up.ts";
import { makeRepository } from "./shop-repository.ts";

const BOARD = fileURLToPath(new URL("../../../cli/bin/board.js", import.meta.url));
const CODING_AGENT = fileURLToPath(new URL("coding-agent.ts", import.meta.url));
/** How long a permission waits for a click in the console. */
const CLICK_MS = 25_000;

export async function createTaskOfCode({ api, ...demo }: Demo, { board_id, agents, tag_ids }: DemoBoard): Promise<void> {
  const body = {
    title: "Sort the products by price",
    description: "The cheapest product is first.",
    assigned_agent_id: agents.Nova.id,
    tag_ids: [tag_ids.code],
  };
  const { id } = await api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } }, body });
  demo.say("you", `create ${demo.label(id)} ${body.title} for Nova, a coding agent`);
}

/** What the runner prints about itself, as an object per line. */
interface RunnerLine {
  event: string;
  text: string;
  task_id?: string;
}

/** Runs `board run` with the coding agent of the demo until the demo ends. People run it with a real coding agent. */
export async function runRunner(demo: Demo, { agents }: DemoBoard, folder: string): Promise<void> {
  const repository = makeRepository(folder);
  const at = (name: string) => path.join(folder, "runner", name);
  const args = ["run", "--json", "--tag", "code", "--", process.execPath, CODING_AGENT];
  const child = spawn(process.execPath, [BOARD, ...args], {
    cwd: repository,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      XDG_CONFIG_HOME: at("config"),
      XDG_STATE_HOME: at("state"),
      APPDATA: at("config"),
      LOCALAPPDATA: at("state"),
      SystemRoot: process.env["SystemRoot"],
      BOARD_URL: demo.url,
      BOARD_TOKEN: agents.Nova.token,
    },
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text));
  const kill = () => child.kill("SIGKILL");
  demo.signal.addEventListener("abort", kill, { once: true });
  // This listener must run before the one that deletes the demo's files, because the runner uses them.
  process.prependOnceListener("exit", kill);
  child.once("error", (error) => (problem = error.message));
  for await (const line of createInterface({ input: child.stdout })) report(demo, JSON.parse(line) as RunnerLine);
  if (!demo.signal.aborted) throw new Error(`The runner has ended: ${problem}`);
}

function report(demo: Demo, { event, text, task_id }: RunnerLine): void {
  if (event !== "task" && event !== "run") return;
  const label = task_id ? demo.label(task_id) : "";
  if (event === "task") demo.say("Nova", `takes ${label} by board run`);
  else if (text.startsWith("waits for a permission"))
    demo.say("Nova", `${label} ${text}: click in the console, or the demo allows it in ${CLICK_MS / 1_000} s`, true);
  else if (!text.startsWith("works in")) demo.say("Nova", `${label} ${text}`);
}

/** Allows each permission that nobody has clicked for a while. */
export async function allowPermissions(demo: Demo, { board_id }: DemoBoard): Promise<void> {
  const board = { path: { board_id } };
  const one = "/api/v1/boards/{board_id}/approvals/{approval_id}";
  for await (const { data } of demo.api.stream("/api/v1/boards/{board_id}/approvals/stream", { params: board })) {
    const { id: approval_id, status, action_type, task_id } = data.approval;
    if (action_type !== "run.permission" || status !== "pending") continue;
    const params = { path: { board_id, approval_id } };
    for (const end = performance.now() + CLICK_MS; performance.now() < end; await demo.wait(1_000))
      if ((await demo.api.get(one, { params })).status !== "pending") break;
    if ((await demo.api.get(one, { params })).status !== "pending") continue;
    await demo.api.patch(one, { params, body: { status: "approved" } });
    demo.say("you", `allow it in ${task_id ? demo.label(task_id) : "a task"}`);
  }
}
