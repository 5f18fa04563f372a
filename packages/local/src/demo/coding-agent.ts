// The coding agent of the demo: a program that speaks the Agent Client Protocol on its standard input and output. Everything that
// it does is real except its judgement. In `board run claude`, a real coding agent such as Claude Code replaces it.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { TEST_COMMAND, UNSORTED, SORTED } from "./shop-repository.ts";

/** The pause is shorter than the time that a model takes, so that the demo is quick to watch. */
const THINKING_MS = 1_500;
const SESSION = { sessionId: "demo" };
const FILE = "products.mjs";

interface Message {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: { outcome?: { optionId?: string } };
}

let cwd = process.cwd();
let isCancelled = false;
const asked = new Map<number | string, (message: Message) => void>();

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

async function tell(update: object): Promise<void> {
  send({ method: "session/update", params: { ...SESSION, update } });
  await pause(THINKING_MS);
}
const say = (sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string) =>
  tell({ sessionUpdate, content: { type: "text", text } });
const use = (toolCallId: string, call: object) => tell({ sessionUpdate: "tool_call", toolCallId, ...call });
const finish = (toolCallId: string, call: object) =>
  tell({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", ...call });

/** Asks for permission. The runner's policy decides, or lets a person decide. */
async function mayI(toolCall: object): Promise<boolean> {
  const options = [
    { optionId: "allow", name: "Allow", kind: "allow_once" },
    { optionId: "reject", name: "Reject", kind: "reject_once" },
  ];
  const id = `permission-${asked.size + 1}`;
  const answer = new Promise<Message>((resolve) => asked.set(id, resolve));
  send({ id, method: "session/request_permission", params: { ...SESSION, options, toolCall } });
  return (await answer).result?.outcome?.optionId === "allow";
}

async function runTests(): Promise<string> {
  const call = { title: TEST_COMMAND, kind: "execute", rawInput: { command: TEST_COMMAND } };
  await use("tests", { ...call, status: "pending" });
  if (!(await mayI({ toolCallId: "tests", ...call }))) {
    await finish("tests", { status: "failed" });
    return "I was not allowed to run the tests.";
  }
  const [, ...args] = TEST_COMMAND.split(" ");
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
  await finish("tests", { content: [{ type: "content", content: { type: "text", text: stdout } }] });
  return "The test passes.";
}

async function work(): Promise<string> {
  const file = path.join(cwd, FILE);
  await say("agent_thought_chunk", "The cheapest product should be first, so the list needs an order.");
  await use("read", { title: `Read ${FILE}`, kind: "read", status: "completed", locations: [{ path: file }] });
  const before = readFileSync(file, "utf8");
  const after = before.replace(UNSORTED, SORTED);
  if (isCancelled) return "cancelled";
  await use("edit", { title: `Edit ${FILE}`, kind: "edit", status: "in_progress", locations: [{ path: file }] });
  writeFileSync(file, after);
  await finish("edit", { content: [{ type: "diff", path: file, oldText: before, newText: after }] });
  const outcome = await runTests();
  if (isCancelled) return "cancelled";
  send({
    method: "session/update",
    params: {
      ...SESSION,
      update: { sessionUpdate: "usage_update", used: 5_400, size: 200_000, cost: { amount: 0.04, currency: "USD" } },
    },
  });
  await say("agent_message_chunk", `Products are sorted by price now, the cheapest first. ${outcome}`);
  return "end_turn";
}

/** What the program answers to requests of the runner. */
const METHODS: Record<string, (params: Record<string, unknown>) => object | Promise<object>> = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: "scripted-coder", version: "1.0.0" }, agentCapabilities: {} }),
  "session/new"(params) {
    cwd = String(params["cwd"]);
    return SESSION;
  },
  "session/prompt": async () => ({
    stopReason: await work(),
    usage: { totalTokens: 5_400, inputTokens: 4_900, outputTokens: 500 },
  }),
};

createInterface({ input: process.stdin })
  // The input closes when the runner is killed. The agent must end then too.
  .on("close", () => process.exit(0))
  .on("line", (line) => {
    const message = JSON.parse(line) as Message;
    const { id, method, params = {} } = message;
    if (method === "session/cancel") isCancelled = true;
    else if (method === undefined) asked.get(id!)?.(message);
    else
      void Promise.resolve(METHODS[method]?.(params)).then(
        (result) => send(result ? { id, result } : { id, error: { code: -32_601, message: `There is no ${method}.` } }),
        (error: unknown) => send({ id, error: { code: -32_603, message: String(error) } }),
      );
  });
