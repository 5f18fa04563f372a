import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { startRun } from "../support/run.ts";
import { listen } from "../support/sse.ts";
import { createTeam, type Team } from "../support/task-rules.ts";

const world = await setupWorld();

/** Adds a team whose worker has begun a run. */
async function begin(name: string): Promise<{ team: Team; run_id: string }> {
  const team = await createTeam(world, name);
  return { team, run_id: (await startRun(world, team)).run_id };
}
const home = renew((n) => begin(`home-${n}`));

const KB16 = 16_384;
const MEGABYTE = 1_048_576;
const postPath = (run_id = home.run_id) => `/api/v1/agent/runs/${run_id}/steps`;
const post = (body: string | Uint8Array | object, headers: Record<string, string> = {}, run_id = home.run_id) =>
  world.call("POST", postPath(run_id), {
    agent: home.team.worker.token,
    headers,
    ...(typeof body === "string" || body instanceof Uint8Array ? { raw: body } : { body }),
  });
const boardPath = ({ team, run_id } = home) => `/api/v1/boards/${team.board_id}/runs/${run_id}`;
const read = (path: string, { team } = home) => world.call("GET", path, { token: team.owner.token });
const say = (text: string) => ({ kind: "message", text });

/** Reads the run with its usage, and all of its steps. */
async function stored(of = home) {
  const items: Record<string, unknown>[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path = `${boardPath(of)}/steps?limit=200&cursor=${cursor}`;
    const page: { items: typeof items; next_cursor: string | null } = (await read(path, of)).body;
    items.push(...page.items);
    cursor = page.next_cursor;
  }
  return { run: (await read(boardPath(of), of)).body, items };
}

/** Markup, terminal sequences, marks that reverse text, and every control character but NUL, which PostgreSQL cannot store. */
const CONTROLS = Array.from({ length: 0xa0 }, (_, code) =>
  code > 0 && (code < 0x20 || code >= 0x7f) ? String.fromCharCode(code) : "",
);
const HOSTILE = [
  ...CONTROLS,
  "\u001b[2J\u001b]0;title\u0007\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\",
  "\u202e\u2066\u2028\u2029\ufeff",
  `<script>alert(1)</script><img src=x onerror=alert(1)>"'><svg/onload=alert(1)>`,
  "\r\n\r\nevent: task.deleted\r\nid: 1\r\ndata: {}\r\n\r\n",
].join("");

test("a megabyte of control characters, markup and terminal sequences is read as the text that was sent", async () => {
  const texts: string[] = [];
  const text = HOSTILE.repeat(Math.floor(KB16 / Buffer.byteLength(HOSTILE)));
  const toBody = (list: string[]) => JSON.stringify({ from: 0, steps: list.map(say) });
  while (Buffer.byteLength(toBody([...texts, text])) <= MEGABYTE) texts.push(text);
  expect((await post(toBody(texts))).body).toEqual({ next: texts.length, full: false });
  expect((await stored()).items.map((step) => step["text"])).toEqual(texts);
  const { text: answer, headers } = await read(`${boardPath()}/steps?limit=5`);
  expect(answer.split("").filter((unit) => unit < " ")).toEqual([]);
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

test("a text that looks like events of a stream is one event of the stream", async () => {
  await post({
    from: 0,
    steps: [say(HOSTILE), { kind: "log", stream: "a\r\n\r\nevent: b", text: "\n\nid: 7\n\n" }, say("last")],
  });
  const path = `${boardPath()}/steps/stream?since=2020-01-01T00:00:00Z`;
  const stream = await listen(world.app.request, path, { token: home.team.owner.token });
  const events = await stream.waitForEvents(3);
  expect(events.map(({ event, data }) => [event, data.n, data.text])).toEqual([
    ["step", 0, HOSTILE],
    ["step", 1, "\n\nid: 7\n\n"],
    ["step", 2, "last"],
  ]);
  await stream.close();
});

test("fields of a step that only the service sets cannot be sent", async () => {
  const forged = '{"kind":"message","text":"x","n":99,"truncated":true,"__proto__":{"truncated":true},"constructor":{}}';
  expect((await post(`{"from":0,"steps":[${forged}]}`)).status).toBe(200);
  expect((await stored()).items).toEqual([{ n: 0, at: expect.any(String), kind: "message", text: "x" }]);
});

test("a request that names earlier steps changes none of them", async () => {
  await post({ from: 0, steps: [say("true")] });
  await post({ from: 0, steps: [say("forged"), say("new")] });
  expect((await stored()).items.map((step) => step["text"])).toEqual(["true", "new"]);
});

const body = (steps: string, from = "1") => `{"from":${from},"steps":[${steps}]}`;
const message = '{"kind":"message","text":"x"}';
const tool = (input: string) => `{"kind":"tool_call","tool_call_id":"t","input":${input}}`;
const used = (fields: string) => `{"kind":"usage",${fields}}`;
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test.each<[string, string, number?, Record<string, string>?]>([
  ["a number of the first step that is negative", body(message, "-1")],
  ["a number of the first step that leaves a gap", body(message, "7"), 409],
  ["a number of the first step as text", body(message, '"1"')],
  ["a number of the first step between two numbers", body(message, "1.5")],
  ["a number of the first step beyond every integer", body(message, "1e999")],
  ["no number of the first step", body(message, "null")],
  ["tokens as text", body(used('"input_tokens":"10"'))],
  ["negative tokens", body(used('"input_tokens":-10'))],
  ["tokens beyond every integer", body(used('"output_tokens":1e999'))],
  ["a price that is a number", body(used('"cost_usd":0.5'))],
  ["a price that is no number", body(used('"cost_usd":"NaN"'))],
  ["a negative price", body(used('"cost_usd":"-1"'))],
  ["JSON of 400,000 levels", body(tool(nested(400_000)))],
  ["JSON of 400,000 levels around the steps", nested(400_000)],
  ["a valid step before one with NUL", body(`${message},{"kind":"message","text":"\\u0000"}`)],
  ["a body that ends early", body(message).slice(0, -2)],
  ["two bodies", body(message) + body(message)],
  ["an announced length that is too large", body(message), 413, { "content-length": String(MEGABYTE + 1) }],
  ["more than it announced", body(message) + " ".repeat(MEGABYTE), 413, { "content-length": "10" }],
  ["more than a megabyte, and no announced length", body(message) + " ".repeat(MEGABYTE), 413, { "content-length": "none" }],
])("a request with %s is refused, and neither steps nor usage change", async (_about, raw, status = 422, headers = {}) => {
  await post({ from: 0, steps: [say("before")] });
  const before = await stored();
  expect((await post(raw, headers)).status).toBe(status);
  expect(await stored()).toEqual(before);
});

test("an agent adds neither steps nor usage to a run of another organization, and does not learn that it exists", async () => {
  const other = await begin(`other-${crypto.randomUUID()}`);
  const before = await stored(other);
  const steps = [say("x"), { kind: "usage", key: "k", input_tokens: 10 }];
  const [foreign, unknown] = [
    await post({ from: 0, steps }, {}, other.run_id),
    await post({ from: 0, steps }, {}, crypto.randomUUID()),
  ];
  expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
  const entries = [{ key: "k", run_id: other.run_id, input_tokens: 10 }];
  const report = await world.call("POST", "/api/v1/agent/usage", { agent: home.team.worker.token, body: { entries } });
  expect([report.status, report.body.detail.code]).toEqual([422, "usage_place_unknown"]);
  expect((await post({ from: 0, steps }, {}, "%2e%2e%2f")).status).toBeLessThan(500);
  expect(await stored(other)).toEqual(before);
});

test.each<[string, Buffer]>([
  ["half of a character", Buffer.from("\\ud800")],
  ["two halves in the wrong order", Buffer.from("\\udc00\\ud800")],
  ["characters that do not exist", Buffer.from("\\uffff\\ufffe")],
  ["thousands of joiners without a character", Buffer.from("\\u200d".repeat(2_000))],
  ["bytes that are no UTF-8", Buffer.from([0xff, 0xfe, 0xc0, 0x80])],
])("a text of %s is stored as some text or refused", async (_about, text) => {
  const raw = Buffer.concat([Buffer.from('{"from":0,"steps":[{"kind":"message","text":"'), text, Buffer.from('"}]}')]);
  const { status } = await post(raw);
  expect([200, 422]).toContain(status);
  expect((await stored()).items).toHaveLength(status === 200 ? 1 : 0);
});
