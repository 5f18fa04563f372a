import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { createClient } from "@board/client/client";
import { ApiError } from "@board/client/error";
import { renderModule } from "@board/client/generate";
import { expect, test, vi } from "vitest";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const root = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

const world = await setupWorld({ streams: { poll_ms: 20 } });
const home = await world.tenant("home");
const server = await setup(serve((request) => world.app.request(request)));

const person = (fetch?: (request: Request) => Promise<Response>, retries = 3) =>
  createClient({ url: server.url, token: home.owner.token, retries, ...(fetch ? { fetch } : {}) });
const agent = (agent_token: string) => createClient({ url: server.url, agent_token });
const board = { path: { board_id: home.board_id } };
const memory = "/api/v1/boards/{board_id}/memory";
const write = (content: string) => person().post(memory, { params: board, body: { content } });
/** Returns the error that a promise is rejected with. */
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was refused"),
    (error: unknown) => error as ApiError,
  );

test("the client's types match the OpenAPI document of the service", async () => {
  const committed = readFileSync(path.join(root, "packages/client/src/api.ts"), "utf8");
  const current = await renderModule((await world.call("GET", "/openapi.json")).body);
  expect(committed === current, "packages/client/src/api.ts is out of date: run `npm run client:generate`").toBe(true);
});

test("client calls that fit the OpenAPI document compile, and other calls do not", async () => {
  const compiler = path.join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, "-p", path.join(root, "tests/client")]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe("");
});

test("the example in README.md prints the task that it creates, when it is run as printed", async () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const [, example] = /```ts\n(.*?)```/s.exec(readme)!;
  const [, command] = /^ {4}TOKEN=\S+ \S+ (node .*) try\.ts$/m.exec(readme)!;
  const folder = path.join(root, ".cache");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `try-${process.pid}.ts`);
  writeFileSync(file, example!.replace("http://127.0.0.1:8000", server.url));
  const env = { ...process.env, TOKEN: (await world.tenant("newcomer")).owner.token };
  const program = spawn("sh", ["-c", `exec ${command} ${file}`], { cwd: root, env });
  try {
    let output = "";
    for (const stream of [program.stdout, program.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    await vi.waitUntil(() => output.includes("Count the lamps") || program.exitCode !== null, { timeout: 20_000 });
    expect(output).toContain("task.created");
    expect(program.exitCode).toBeNull();
  } finally {
    const exited = once(program, "exit");
    if (program.exitCode === null && program.kill()) await exited;
    rmSync(file);
  }
});

test("the client authenticates people and agents with their own headers", async () => {
  const created = await person().post("/api/v1/boards/{board_id}/tasks", { params: board, body: { title: "Count & pack" } });
  const lead = agent(home.lead.token);
  const page = await lead.get("/api/v1/agent/boards/{board_id}/tasks", {
    params: { ...board, query: { status: "inbox,review", unassigned: true, limit: 5 } },
  });
  expect(page).toMatchObject({ items: [created], total: 1, limit: 5 });
  const task = { path: { ...board.path, task_id: created.id } };
  const changed = await person().patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task, body: { priority: "high" } });
  expect(changed).toMatchObject({ id: created.id, priority: "high" });
  expect(await person().delete("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task })).toEqual({ ok: true });
});

test("the client throws a refusal with its status, detail, code and request id", async () => {
  const lead = agent(home.lead.token);
  const denied = await refusal(lead.post("/api/v1/agent/gateway/leads/broadcast", { body: { content: "Hello" } }));
  expect(denied).toBeInstanceOf(ApiError);
  expect(denied).toMatchObject({
    status: 403,
    message: "Only the gateway main agent can perform this action",
    code: "forbidden",
    request_id: expect.stringMatching(/^[\w-]{36}$/),
  });
  const missing = await refusal(person().get("/api/v1/tags/{tag_id}", { params: { path: { tag_id: home.board_id } } }));
  expect(missing).toMatchObject({ status: 404, message: "Not Found", detail: "Not Found", code: undefined });
  const unfit = await refusal(person().post("/api/v1/tags", { body: { name: " ", color: "blue" } }));
  expect(unfit).toMatchObject({ status: 422, detail: [{ loc: ["body", "name"] }, { loc: ["body", "color"] }] });
  expect(unfit.message).toMatch(/^body\.name: String should have at least 1 character; body\.color: /);
});

test("an answer that did not come from the service is thrown as an error too, with the time to retry after", async () => {
  const busy = person(async () => new Response("busy", { status: 503, headers: { "retry-after": "7" } }), 0);
  const error = await refusal(busy.get("/api/v1/boards"));
  expect(error).toMatchObject({ status: 503, message: "busy", code: undefined, request_id: null, retry_after_seconds: 7 });
  expect(() => createClient({ url: "localhost" })).toThrow("Invalid URL");
});

/** Simulates a network that cuts each connection after its first event, and a service that asks for an immediate retry. */
function cutting(ids: (string | null)[], clients: (string | null)[] = []) {
  return async (request: Request) => {
    ids.push(request.headers.get("last-event-id"));
    clients.push(new URL(request.url).searchParams.get("client_id"));
    const response = await fetch(request);
    return new Response(ReadableStream.from(cut(response.body!)), response);
  };
}

async function* cut(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from("retry: 10\n\n");
  for await (const part of body) {
    yield part;
    if (!Buffer.from(part).includes("data: ")) continue;
    // The client reads the data that arrived before it notices the broken connection.
    await pause(20);
    throw new TypeError("terminated");
  }
}

test("the client resumes a stream after a broken connection, with no event missing or repeated", async () => {
  const ids: (string | null)[] = [];
  const seen: string[] = [];
  const contents: string[] = [];
  await write("one");
  const params = { ...board, query: { since: "2000-01-01" } };
  for await (const { id, event, data } of person(cutting(ids)).stream(`${memory}/stream`, { params })) {
    expect(event).toBe("memory");
    seen.push(id);
    contents.push(data.memory.content);
    if (contents.length === 3) break;
    await write(contents.length === 1 ? "two" : "three");
  }
  expect(contents).toEqual(["one", "two", "three"]);
  expect(ids).toEqual([null, seen[0], seen[1]]);
});

test("all connections of one stream of the client have the same client id, and another stream has a different one", async () => {
  const clients: (string | null)[] = [];
  const params = { ...board, query: { since: "2000-01-01" } };
  const first = person(cutting([], clients)).stream(`${memory}/stream`, { params });
  while (clients.length < 2) {
    await write("again");
    await first.next();
  }
  await first.return(undefined);
  await person(cutting([], clients)).stream(`${memory}/stream`, { params }).next();
  expect(clients).toEqual([expect.stringMatching(/^[\w-]{1,64}$/), clients[0], expect.stringMatching(/^[\w-]{1,64}$/)]);
  expect(clients[2]).not.toBe(clients[0]);
});

test("the client's stream ends when it is aborted, refused or no longer read, but not while the service is starting", async () => {
  const over = new AbortController();
  const quiet = person().stream(`${memory}/stream`, { params: board, signal: over.signal });
  const ended = refusal(quiet.next());
  over.abort(new Error("that is all"));
  expect((await ended).message).toBe("that is all");

  const elsewhere = { path: { board_id: crypto.randomUUID() } };
  expect(await refusal(person().stream(`${memory}/stream`, { params: elsewhere }).next())).toMatchObject({ status: 404 });

  let tries = 0;
  const notYet = () => new Response("", { status: 503, headers: { "retry-after": "0" } });
  const starting = async (request: Request) => (tries++ === 0 ? notYet() : fetch(request));
  const params = { ...board, query: { since: "2000-01-01" } };
  for await (const { data } of person(starting).stream(`${memory}/stream`, { params })) {
    expect(data.memory.content).toBe("one");
    break;
  }
  expect(tries).toBe(2);
});
