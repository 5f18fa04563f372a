import { createSecretKey, randomBytes } from "node:crypto";
import { createApp } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import { rowsOf } from "@board/core/db/database";
import { gateways, idempotency_keys, idempotency_usage } from "@board/core/schema/all-tables";
import { claimKey, completeClaim, readAnswer } from "@board/core/idempotency/idempotency";
import { seal } from "@board/core/values/seal";
import { eq, sql } from "drizzle-orm";
import { expect, onTestFinished, test, vi } from "vitest";
import { runScheduled } from "@board/api/work/schedules";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { setupWorld } from "../support/fixtures.ts";
import { type Answer, type CallOptions, call } from "../support/http.ts";
import { createWorld } from "../support/world.ts";

const world = await setupWorld({ environment: { CORS_ORIGINS: "https://app.example" } });
const home = await world.tenant("home");
const tasks: string = `/api/v1/boards/${home.board_id}/tasks`;

const post = (path: string, key: string | null, body: unknown, options: CallOptions = {}): Promise<Answer> =>
  world.call("POST", path, {
    ...(options.agent || options.token ? {} : { token: home.owner.token }),
    ...options,
    body,
    headers: { ...options.headers, ...(key === null ? {} : { "Idempotency-Key": key }) },
  });
const titles = async () =>
  (await world.call("GET", tasks, { token: home.owner.token })).body.items.map((task: { title: string }) => task.title);
const count = async (title: string) => (await titles()).filter((other: string) => other === title).length;
const essence = ({ status, text }: Answer) => [status, text];

test("the same POST with the same Idempotency-Key has one effect and the same answer", async () => {
  const first = await post(tasks, "once", { title: "Once" });
  const again = await post(tasks, "once", { title: "Once" });
  expect(first.status).toBe(200);
  expect(first.headers.get("idempotent-replayed")).toBe(null);
  expect(essence(again)).toEqual(essence(first));
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.headers.get("content-type")).toBe("application/json");
  expect(await count("Once")).toBe(1);
});

test("a repeated POST only reads the stored answer, and does not begin a transaction or write anything", async () => {
  await post(tasks, "read only", { title: "Read only" });
  world.statements.length = 0;
  await post(tasks, "read only", { title: "Read only" });
  expect(world.statements.filter((statement) => /^(insert|update|with|begin)/i.test(statement))).toEqual([]);
  expect(world.statements).toHaveLength(2);
});

test("after a change of the encryption key a repeated POST has no effect, and the error says that the stored answer cannot be read", async () => {
  await post(tasks, "rotated", { title: "Before the change" });
  const stored = eq(idempotency_keys.key, "rotated");
  await world.db
    .update(idempotency_keys)
    .set({ answer_sealed: Buffer.from(seal(createSecretKey(randomBytes(32)), "{}")) })
    .where(stored);
  const again = await post(tasks, "rotated", { title: "Before the change" });
  expect([again.status, again.body.detail]).toEqual([409, expect.stringContaining("key has changed")]);
  expect(await count("Before the change")).toBe(1);
});

test("a different body with a used Idempotency-Key is refused and has no effect", async () => {
  await post(tasks, "taken", { title: "First" });
  const other = await post(tasks, "taken", { title: "Second" });
  expect(essence(other)).toEqual([422, '{"detail":"Idempotency-Key was used with another request."}']);
  expect(await count("Second")).toBe(0);
});

test("an Idempotency-Key that is sent again for another board or query counts as another request", async () => {
  const board = { name: "Other", description: "Other", gateway_id: home.gateway_id };
  const { body } = await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: board });
  await post(tasks, "board", { title: "Here" });
  expect((await post(`/api/v1/boards/${body.id}/tasks`, "board", { title: "Here" })).status).toBe(422);
});

test("an Idempotency-Key applies only to one actor and one operation", async () => {
  const created = await post(tasks, "shared", { title: "By a person" });
  const text = { content: "A note", tags: [] };
  const [memory, comment, byAgent] = [
    await post(`/api/v1/boards/${home.board_id}/memory`, "shared", text),
    await post(`${tasks}/${created.body.id}/comments`, "shared", { message: "A comment" }),
    await post(`/api/v1/boards/${home.board_id}/memory`, "shared", text, { agent: home.lead.token }),
  ];
  for (const { status, headers } of [memory, comment, byAgent])
    expect([status, headers.get("idempotent-replayed")]).toEqual([200, null]);
});

test("the same Idempotency-Key in another organization does not get the first organization's answers", async () => {
  const stranger = await world.tenant("stranger");
  const name = { name: "Secret" };
  await post("/api/v1/tags", "tag", name);
  const theirs = await post("/api/v1/tags", "tag", name, { token: stranger.owner.token });
  expect([theirs.status, theirs.headers.get("idempotent-replayed")]).toEqual([200, null]);
  expect(theirs.body.organization_id).toBe(stranger.organization_id);
});

test("an Idempotency-Key has 1 to 255 printable characters", async () => {
  for (const key of ["", "x".repeat(256), "tab\there", "ümlaut"]) {
    const { status, body } = await post(tasks, key, { title: "Unused" });
    expect([status, body], key).toEqual([422, { detail: "Idempotency-Key must have 1 to 255 printable ASCII characters." }]);
  }
  expect((await post(tasks, "x".repeat(255), { title: "Long key" })).status).toBe(200);
  expect(await count("Unused")).toBe(0);
});

test("a refused POST is refused again with the same answer, even when it would now succeed", async () => {
  const tag = await post("/api/v1/tags", null, { name: "Busy" });
  const refused = await post("/api/v1/tags", "refused", { name: "Busy" });
  await world.call("DELETE", `/api/v1/tags/${tag.body.id}`, { token: home.owner.token });
  const again = await post("/api/v1/tags", "refused", { name: "Busy" });
  expect(refused.status).toBe(409);
  expect(essence(again)).toEqual(essence(refused));
  expect(again.headers.get("idempotent-replayed")).toBe("true");
});

test("a repeated POST gets its stored answer even when an equal new POST would be refused", async () => {
  const first = await post("/api/v1/tags", "conflicting", { name: "Only one" });
  expect(first.status).toBe(200);
  expect(essence(await post("/api/v1/tags", "conflicting", { name: "Only one" }))).toEqual(essence(first));
});

test("a stored answer is not in plain text, and does not contain an agent's token", async () => {
  const body = { name: "Sealed", board_id: home.board_id };
  const first = await post("/api/v1/agents", "agent", body);
  const again = await post("/api/v1/agents", "agent", body);
  expect(again.body).toEqual({ ...first.body, auth_token: null });
  const rows = await world.db.select().from(idempotency_keys);
  const stored = rows.map(({ answer_sealed }) => Buffer.from(answer_sealed!).toString("latin1")).join();
  expect(stored).not.toContain(first.body.auth_token);
  expect(stored).not.toContain("Sealed");
});

test("sending an Idempotency-Key costs a POST one additional statement", async () => {
  const cost = async (path: string, key: string | null, body: unknown) => {
    world.statements.length = 0;
    expect((await post(path, key, body)).status).toBe(200);
    return world.statements.length;
  };
  for (const [path, name] of [
    [tasks, "title"],
    ["/api/v1/tags", "name"],
    [`/api/v1/boards/${home.board_id}/memory`, "content"],
  ] as const) {
    const plain = await cost(path, null, { [name]: `plain ${path}` });
    const keyed = await cost(path, `cost ${path}`, { [name]: `keyed ${path}` });
    expect(keyed - plain, path).toBe(1);
  }
});

test("one of several concurrent POSTs with one key has an effect, and the others get its answer or must wait", async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(tasks, "race", { title: "Race" })));
  const [done, waiting] = [answers.filter(({ status }) => status === 200), answers.filter(({ status }) => status === 409)];
  expect(done.length + waiting.length).toBe(answers.length);
  expect(new Set(done.map(({ text }) => text)).size).toBe(1);
  for (const { headers, body } of waiting)
    expect([headers.get("retry-after"), body.detail]).toEqual([
      "1",
      "The first request with this Idempotency-Key is still running. Send it again in a second.",
    ]);
  expect(await count("Race")).toBe(1);
});

test("the answer to a POST with an Idempotency-Key is kept for a day", async () => {
  await post(tasks, "kept", { title: "Kept" });
  world.elapse(23 * 3_600_000);
  await runScheduled(world.context(), "retention");
  expect((await post(tasks, "kept", { title: "Kept" })).headers.get("idempotent-replayed")).toBe("true");
  world.elapse(2 * 3_600_000);
  await runScheduled(world.context(), "retention");
  expect((await post(tasks, "kept", { title: "Kept" })).headers.get("idempotent-replayed")).toBe(null);
  expect(await count("Kept")).toBe(2);
});

test("a browser client may send an Idempotency-Key and can see whether an answer is a repetition", async () => {
  const headers = { origin: "https://app.example" };
  await post(tasks, "browser", { title: "Browser" }, { headers });
  const again = await post(tasks, "browser", { title: "Browser" }, { headers });
  expect(again.headers.get("access-control-expose-headers")).toContain("Idempotent-Replayed");
  const preflight = await world.call("OPTIONS", tasks, {
    headers: {
      ...headers,
      "access-control-request-method": "POST",
      "access-control-request-headers": "idempotency-key,if-match",
    },
  });
  expect(preflight.headers.get("access-control-allow-headers")).toBe("idempotency-key,if-match");
});

/** Creates an app like another process of the service on the same database, and returns a function that posts to it. */
const otherProcess = () => {
  const app = createApp(world.runtime, endpoints);
  return (path: string, key: string, body: unknown) =>
    call((target, init) => app.request(target, init), "POST", path, {
      token: home.owner.token,
      body,
      headers: { "Idempotency-Key": key },
    });
};

test("a POST that reaches several processes at the same moment has one effect", async () => {
  const processes = Array.from({ length: 4 }, otherProcess);
  const answers = await Promise.all(processes.map((send) => send(tasks, "processes", { title: "Processes" })));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.has("idempotent-replayed")).length).toBe(3);
  expect(await count("Processes")).toBe(1);
});

test("a crash between the effect and the stored answer leaves neither of them, and the repeated POST produces both", async () => {
  const title = "Crashed";
  await world.db.transaction(async (blocking) => {
    // The lock makes the request wait after its task is inserted.
    await blocking.execute(sql`lock table idempotency_keys in share row exclusive mode`);
    const lost = post(tasks, "crash", { title });
    const waiting = sql`datname = current_database() and wait_event_type = 'Lock' and query ~ 'insert into "idempotency_keys"'`;
    const isWaiting = async () => rowsOf(await world.db.execute(sql`select 1 from pg_stat_activity where ${waiting}`)).length > 0;
    await vi.waitUntil(isWaiting, { timeout: 20_000 });
    await world.db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where ${waiting}`);
    expect((await lost).status).toBe(503);
  });
  expect(await count(title)).toBe(0);
  const repeated = await post(tasks, "crash", { title });
  expect([repeated.status, repeated.headers.get("idempotent-replayed")]).toEqual([200, null]);
  expect(await count(title)).toBe(1);
});

async function setupGateway(): Promise<FakeGateway> {
  const gateway = await startFakeGateway({ token: "test-token-123" });
  onTestFinished(() => gateway.close());
  return gateway;
}

const host = { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/work" };
const countHosts = () => world.db.$count(gateways, eq(gateways.name, host.name));

test("a POST that calls a host takes effect once per idempotency key, and its answer is not stored when the host fails", async () => {
  const first = await post("/api/v1/gateways", "gateway", host);
  const again = await post("/api/v1/gateways", "gateway", host);
  expect([first.status, essence(again)]).toEqual([200, essence(first)]);
  expect(await countHosts()).toBe(1);
  const skill = await post("/api/v1/skills/marketplace", null, { source_url: "https://github.com/a/b", name: "Skill" });
  const install = `/api/v1/skills/marketplace/${skill.body.id}/install?gateway_id=${first.body.id}`;
  expect((await post(install, "install", {})).status).toBe(502);
  expect(await world.db.$count(idempotency_keys, eq(idempotency_keys.key, "install"))).toBe(0);
});

test("while a POST that calls a host runs in another process, a repeat gets 409; a minute after a crash the key can be used again", async () => {
  const created = await post("/api/v1/gateways", "claim", { ...host, name: "Claimed" });
  expect(created.status).toBe(200);
  // A process that crashes before it registers the gateway leaves its key like this.
  await world.db.update(idempotency_keys).set({ status: null, answer_sealed: null }).where(eq(idempotency_keys.key, "claim"));
  await world.db.delete(gateways).where(eq(gateways.name, "Claimed"));
  const early = await post("/api/v1/gateways", "claim", { ...host, name: "Claimed" });
  expect([early.status, early.headers.get("retry-after")]).toEqual([409, "1"]);
  world.elapse(61_000);
  const late = await post("/api/v1/gateways", "claim", { ...host, name: "Claimed" });
  expect([late.status, late.headers.get("idempotent-replayed")]).toEqual([200, null]);
  expect((await post("/api/v1/gateways", "claim", { ...host, name: "Claimed" })).text).toBe(late.text);
});

test("a POST whose answer cannot be stored after its call to a host is answered, and a repeat does not call the host again", async () => {
  const gateway = await setupGateway();
  const hosted = await world.tenant("hosted", gateway.url);
  const path = `/api/v1/gateway/sessions/${hosted.lead.session_key}/message?board_id=${hosted.board_id}`;
  const send = () => post(path, "unstored", { content: "Once" }, { token: hosted.owner.token });
  await world.db.execute(sql`alter table idempotency_keys add constraint no_answer check (status is null) not valid`);
  const first = await send();
  await world.db.execute(sql`alter table idempotency_keys drop constraint no_answer`);
  const again = await send();
  expect([first.status, again.status, again.headers.get("retry-after")]).toEqual([200, 409, "1"]);
  expect(gateway.messages.filter(({ message }) => message === "Once")).toHaveLength(1);
});

test("the answer under a reserved key is stored even when the clock moves while the key is being reserved", async () => {
  let ticks = 0;
  const ctx = { ...world.context(), now: () => new Date(world.now().getTime() + ticks++) };
  const owner_id = home.organization_id;
  const request = { caller_id: home.lead.id, owner_id, operation: "POST /ticks", key: "ticks", hash: Buffer.alloc(32) };
  const claim = await claimKey(ctx, request);
  await completeClaim(ctx, claim!, { status: 201, headers: {}, text: "made" });
  expect(await readAnswer(ctx, request)).toMatchObject({ status: 201, text: "made" });
});

test("an organization without room for more answers gets 429 for new keys until old ones expire, and still gets its stored answers", async () => {
  const small = await createWorld({ limits: { organization_idempotency_bytes: 2_000 } });
  try {
    const tenant = await small.tenant("small");
    const send = (key: string) =>
      small.call("POST", "/api/v1/tags", {
        token: tenant.owner.token,
        body: { name: key },
        headers: { "Idempotency-Key": key },
      });
    const answers: Answer[] = [];
    for (let index = 0; index < 8; index++) answers.push(await send(`tag ${index}`));
    const full = answers.findIndex(({ status }) => status === 429);
    expect(full).toBeGreaterThan(1);
    expect([answers[full]!.headers.get("retry-after"), answers[full]!.body.detail]).toEqual([
      "3600",
      "The organization has no room for more answers to requests with an Idempotency-Key. Wait until old ones expire.",
    ]);
    const listed = await small.call("GET", "/api/v1/tags", { token: tenant.owner.token });
    expect(listed.body.total).toBe(full);
    expect((await send("tag 0")).headers.get("idempotent-replayed")).toBe("true");
    small.elapse(25 * 3_600_000);
    await runScheduled(small.context(), "retention");
    expect(await small.db.$count(idempotency_usage)).toBe(0);
    expect((await send("tag new")).status).toBe(200);
  } finally {
    await small.close();
  }
});

test("the answers of an organization are removed with it", async () => {
  const leaving = await world.tenant("leaving");
  await post("/api/v1/tags", "left", { name: "Left" }, { token: leaving.owner.token });
  const isTheirs = eq(idempotency_keys.owner_id, leaving.organization_id);
  expect(await world.db.$count(idempotency_keys, isTheirs)).toBe(1);
  expect((await world.call("DELETE", "/api/v1/organizations/me", { token: leaving.owner.token })).status).toBe(200);
  expect(await world.db.$count(idempotency_keys, isTheirs)).toBe(0);
});
