/** Tests streams of the started local server, over real sockets. */
import { setTimeout as pause } from "node:timers/promises";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { afterEach, expect, test } from "vitest";
import { call } from "../support/http.ts";
import { cleanUpPrograms, dataFolder, type Program, readToken, startProgram } from "../support/program.ts";
import { listen } from "../support/sse.ts";

const TOKEN = "gateway-token-0815";
let gateway: FakeGateway;
afterEach(async () => {
  await cleanUpPrograms();
  await gateway.close();
});

async function start(folder: string) {
  const program = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error", STREAMS_PER_CALLER: "0" });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  const token = await readToken(program);
  const send = (path: string, init: RequestInit) => fetch(url! + path, init);
  return {
    program: program as Program,
    send,
    token,
    call: (method: string, path: string, body?: object) => call(send, method, path, { token, body }),
  };
}

async function createBoard(server: Awaited<ReturnType<typeof start>>): Promise<string> {
  gateway = await startFakeGateway({ token: TOKEN });
  const host = { name: "Host", url: gateway.url, token: TOKEN, workspace_root: "/srv/agents" };
  const gateway_id = (await server.call("POST", "/api/v1/gateways", host)).body.id;
  return (await server.call("POST", "/api/v1/boards", { name: "Shop", description: "A shop", gateway_id })).body.id;
}

test("a local server sends headers first, then events; SIGTERM ends its streams, and its next start resumes them", async () => {
  const folder = dataFolder();
  let server = await start(folder);
  const board_id = await createBoard(server);
  const path = `/api/v1/boards/${board_id}/memory`;
  const follow = (last?: string) => listen(server.send, `${path}/stream`, { token: server.token, last });
  const listeners = await Promise.all(Array.from({ length: 20 }, () => follow()));
  for (const { status, headers, text } of listeners)
    expect([status, headers.get("content-type"), text]).toEqual([200, "text/event-stream; charset=utf-8", ""]);
  await server.call("POST", path, { content: "one" });
  for (const listener of listeners) await listener.waitForEvents(1);
  // One client disconnects.
  await listeners.pop()!.close();

  expect(await server.program.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(server.program.stderr).toBe("");
  for (const listener of listeners) {
    await listener.waitForEnd();
    expect(listener.text).toMatch(/\n\nid: [\w-]+\nretry: 2000\n\n$/);
  }

  server = await start(folder);
  await server.call("POST", path, { content: "two" });
  const resumed = await follow(listeners[0]!.lastId());
  await resumed.waitForEvents(1);
  expect(resumed.events().map(({ data }) => data.memory.content)).toEqual(["two"]);
  await resumed.close();
});

test("a client that pauses reading from the local server gets everything in order later", async () => {
  const server = await start(dataFolder());
  const board_id = await createBoard(server);
  const path = `/api/v1/boards/${board_id}/memory`;
  const abort = new AbortController();
  const stalled = await fetch(new URL((await server.send("/healthz", {})).url).origin + `${path}/stream?since=2000-01-01`, {
    headers: { authorization: `Bearer ${server.token}` },
    signal: abort.signal,
  });
  // This is more data than the socket buffers can hold.
  const contents = Array.from({ length: 120 }, (_, index) => `${index} ${"x".repeat(90_000)}`);
  for (const content of contents) await server.call("POST", path, { content });
  await pause(3_000);
  const reader = stalled.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let seen = 0; seen < contents.length; ) {
    text += decoder.decode((await reader.read()).value, { stream: true });
    // Pings are comments, not events.
    seen = text.match(/^data: .*\n\n/gm)?.length ?? 0;
  }
  const received = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!).memory.content);
  expect(received).toEqual(contents);
  abort.abort();
});
