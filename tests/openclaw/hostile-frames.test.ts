import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { createEntriesPatch } from "../../packages/openclaw/src/host/config.ts";
import { createClient, expectGatewayError, startScriptedHost, TOKEN } from "./client-fixture.ts";

const DEPTH = 200_000;
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const lists = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Starts a host that answers `health` at once, and any other call with the frames of `answer`. */
async function startHost(answer: (id: string) => string[]) {
  return await startScriptedHost((socket: WebSocket, { id, method }) => {
    for (const frame of method === "health" ? [JSON.stringify({ type: "res", id, ok: true, payload: "well" })] : answer(id))
      socket.send(frame);
  });
}

test.each([
  ["error details", (id: string) => `{"type":"res","id":"${id}","ok":false,"error":{"message":"no","details":${nested(DEPTH)}}}`],
  ["a payload of objects", (id: string) => `{"type":"res","id":"${id}","ok":true,"payload":${nested(DEPTH)}}`],
  ["a payload of lists before the id", (id: string) => `{"payload":${lists(DEPTH)},"type":"res","ok":true,"id":"${id}"}`],
  ["a result of the older protocol", (id: string) => `{"id":"${id}","result":${lists(DEPTH)}}`],
])("%s nested 200,000 deep fail one call, and the connection serves the next one", async (_what, frame) => {
  const { target, opened } = await startHost((id) => [frame(id)]);
  const gateways = createClient();
  const error = await expectGatewayError(gateways.request(target, "config.get", {}));
  expect(error.message).toMatch(/nested too deeply/);
  expect(error.is_transient).toBe(false);
  expect(await gateways.request(target, "health", {})).toBe("well");
  expect(opened()).toBe(1);
});

test("events and answers to unknown requests are ignored however deep or malformed they are", async () => {
  const { target, opened } = await startHost((id) => [
    `{"type":"event","event":"chat","payload":${nested(DEPTH)}}`,
    `{"payload":${lists(DEPTH)},"event":"chat","type":"event"}`,
    `{"type":"res","id":"unknown","ok":true,"payload":${lists(DEPTH)}}`,
    "",
    "{",
    "}",
    '"',
    '"\\',
    "]]]]",
    '{"type":"res","id":"',
    "[".repeat(DEPTH),
    '{"a":"\\"',
    "null",
    '{"type":"event"',
    JSON.stringify({ type: "res", id, ok: true, payload: "answer" }),
  ]);
  const gateways = createClient();
  expect(await gateways.request(target, "config.get", {})).toBe("answer");
  expect(opened()).toBe(1);
});

test("an answer with more values than any host would send makes its call fail", async () => {
  const { target } = await startHost((id) => [`{"type":"res","id":"${id}","ok":true,"payload":[${"{},".repeat(1_500_000)}{}]}`]);
  const error = await expectGatewayError(createClient().request(target, "config.get", {}));
  expect(error.message).toMatch(/too many values/);
  expect(error.is_transient).toBe(false);
});

test("a text that looks like a frame inside a string or a payload is not taken for one", async () => {
  const text = '{"type":"event","event":"shutdown","id":"x"} [[[{{{ \\" \\';
  const { target, opened } = await startHost((id) => [
    JSON.stringify({ payload: { type: "event", event: "shutdown", id: "y", text }, ok: true, id, type: "res" }),
  ]);
  const gateways = createClient();
  expect(await gateways.request(target, "config.get", {})).toEqual({ type: "event", event: "shutdown", id: "y", text });
  await gateways.request(target, "health", {});
  expect(opened()).toBe(1);
});

test.each([
  ["first", `{"type":"event","event":"shutdown","payload":"${"x".repeat(100_000)}"}`],
  ["last", `{"payload":"${"x".repeat(100_000)}","event":"shutdown","type":"event"}`],
])("a large event is recognized by its name, with its type %s", async (_where, event) => {
  const { target, opened } = await startHost((id) => [event, JSON.stringify({ type: "res", id, ok: true, payload: "answer" })]);
  const gateways = createClient();
  expect(await gateways.request(target, "config.get", {})).toBe("answer");
  await gateways.request(target, "health", {});
  expect(opened()).toBe(2);
});

test("a message above the limit closes the connection, and the next call opens another", async () => {
  const { target, opened } = await startHost(() => [
    `{"type":"event","event":"chat","payload":"${"x".repeat(9 * 1024 * 1024)}"}`,
  ]);
  const gateways = createClient();
  await expectGatewayError(gateways.request(target, "config.get", {}));
  expect(await gateways.request(target, "health", {})).toBe("well");
  expect(opened()).toBe(2);
});

test("error details above their limit are dropped, and the error arrives with the token redacted", async () => {
  const { target } = await startHost((id) => [
    JSON.stringify({
      type: "res",
      id,
      ok: false,
      error: { message: `no ${TOKEN}`, code: "ODD", details: ["x".repeat(200_000)] },
    }),
  ]);
  const error = await expectGatewayError(createClient().request(target, "config.get", {}));
  expect(error).toMatchObject({ message: "no ***", failure: { code: "ODD" } });
  expect("details" in error.failure).toBe(false);
});

test("an entry of the service is added to a host's configuration even if another id in it cannot be converted to a string", () => {
  const odd = { id: { toString: 1, valueOf: 1 } };
  expect(createEntriesPatch({ agents: { list: [odd] } }, [{ id: "mc-a", settings: { workspace: "/w" } }])).toEqual({
    agents: { list: [odd, { id: "mc-a", workspace: "/w" }] },
  });
});
