// A coding agent of the Agent Client Protocol that does what a script says: node scripted-agent.mjs script.json. It is written
// without the SDK, so that it can also do what no honest agent does.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const script = JSON.parse(readFileSync(process.argv[2], "utf8"));
let session = null;
let prompt = "";
let isCancelled = false;
let requests = 0;
const open = new Map();

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (fields) => send({ method: "session/update", params: { sessionId: "scripted", update: fields } });
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `agent-${++requests}`;
    open.set(id, resolve);
    send({ id, method, params: { sessionId: "scripted", ...params } });
  });
const text = (words) => ({ type: "text", text: words });

const OPTIONS = [
  { optionId: "yes", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];

/** The actions that a script can name. */
const ACTIONS = {
  say: (words) => update({ sessionUpdate: "agent_message_chunk", content: text(words) }),
  think: (words) => update({ sessionUpdate: "agent_thought_chunk", content: text(words) }),
  tool: (call) => update({ sessionUpdate: "tool_call", toolCallId: "call", title: "A tool", ...call }),
  tool_update: (call) => update({ sessionUpdate: "tool_call_update", toolCallId: "call", ...call }),
  plan: (entries) => update({ sessionUpdate: "plan", entries }),
  cost: (amount) => update({ sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount, currency: "USD" } }),
  raw: (line) => process.stdout.write(`${line}\n`),
  stderr: (line) => process.stderr.write(`${line}\n`),
  sleep: (ms) => pause(ms),
  write([name, content]) {
    const file = path.resolve(session.cwd, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  },
  append: ([file, line]) => appendFileSync(file, `${line}\n`),
  commit(subject) {
    const author = ["-c", "user.name=agent", "-c", "user.email=agent@localhost"];
    execFileSync("git", ["add", "--all"], { cwd: session.cwd });
    execFileSync("git", [...author, "commit", "--quiet", `--message=${subject}`], { cwd: session.cwd });
  },
  async permission({ options = OPTIONS, note, ...toolCall }) {
    const answer = await ask("session/request_permission", {
      options,
      toolCall: { toolCallId: "call", title: "A tool", kind: "execute", ...toolCall },
    });
    const outcome = answer.outcome?.optionId ?? answer.outcome?.outcome;
    if (note) appendFileSync(note, `${outcome}\n`);
    update({ sessionUpdate: "agent_message_chunk", content: text(`The answer was ${outcome}. `) });
  },
  /** Calls a tool of the board, with the address and headers that the session received. */
  async board([name, input]) {
    const [{ url, headers }] = session.mcpServers;
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
        ...Object.fromEntries(headers.map((header) => [header.name, header.value])),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }),
    });
    const body = await answer.text();
    update({ sessionUpdate: "agent_thought_chunk", content: text(`${name}: ${answer.status} ${body}`) });
  },
  /** Writes to a file everything that the agent received at its start. */
  dump(file) {
    writeFileSync(file, JSON.stringify({ env: process.env, argv: process.argv, prompt, session, pid: process.pid }));
  },
  flood(bytes) {
    const line = `${JSON.stringify({
      jsonrpc: "2.0",
      method: "session/update",
      params: {
        sessionId: "scripted",
        update: { sessionUpdate: "tool_call_update", toolCallId: "call", rawOutput: "x".repeat(8_000) },
      },
    })}\n`;
    for (let sent = 0; sent < bytes; sent += line.length) writeAll(line);
  },
  /** Writes one very long line: at least `bytes` bytes before its line break. */
  flood_line(bytes) {
    const piece = "y".repeat(64_000);
    for (let sent = 0; sent < bytes; sent += piece.length) writeAll(piece);
    writeAll("\n");
  },
  /** Starts a process that outlives the agent and ignores SIGTERM. */
  child(file) {
    const code = `process.on("SIGTERM", () => {}); setInterval(() => require("fs").appendFileSync(${JSON.stringify(file)}, "."), 50)`;
    spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  },
  ignore_signals() {
    process.on("SIGTERM", () => {});
  },
  deaf: () => {},
  crash: (code) => process.exit(code),
  /** Answers the prompt with an error. */
  fail: (length) => Promise.reject(new Error("z".repeat(length))),
  hang: () => new Promise((resolve) => setTimeout(resolve, 2 ** 30)),
};

function writeAll(piece) {
  const bytes = Buffer.from(piece);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

async function perform() {
  for (const action of script) {
    if (isCancelled) return "cancelled";
    for (const [name, value] of Object.entries(action)) await ACTIONS[name](value);
  }
  return isCancelled ? "cancelled" : "end_turn";
}

/** Answers to requests of the client. */
const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    agentInfo: { name: "scripted", version: "1.2.3" },
    agentCapabilities: { mcpCapabilities: { http: true } },
  }),
  "session/new"(params) {
    session = params;
    return { sessionId: "scripted" };
  },
  async "session/prompt"(params) {
    prompt = params.prompt.map((part) => part.text).join("");
    return { stopReason: await perform(), usage: { totalTokens: 30, inputTokens: 20, outputTokens: 10 } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    open.get(id)?.(result ?? error);
    open.delete(id);
  } else if (method === "session/cancel") isCancelled = !script.some((action) => action.deaf);
  else
    void Promise.resolve(METHODS[method]?.(params)).then(
      (answer) => send(answer ? { id, result: answer } : { id, error: { code: -32_601, message: `There is no ${method}.` } }),
      ({ message }) => send({ id, error: { code: -32_603, message } }),
    );
}
