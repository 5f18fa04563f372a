import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Answer } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const onBoard: string = `/api/v1/boards/${home.board_id}`;

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  world.call(method, path, { token: home.owner.token, headers, body });
const read = (path: string) => call("GET", path);
const tagOf = (answer: Answer) => answer.headers.get("etag")!;
const ifMatch = (tag: string) => ({ "if-match": tag });

async function create(path: string, body: unknown): Promise<string> {
  const { status, body: created } = await call("POST", path, body);
  expect(status).toBe(200);
  return created.id;
}

/** Each function creates a resource of its kind, and returns its path and two changes that differ. */
const kinds: Record<string, () => Promise<{ path: string; changes: [object, object]; stays?: true }>> = {
  task: async () => ({
    path: `${onBoard}/tasks/${await create(`${onBoard}/tasks`, { title: "Fence" })}`,
    changes: [{ title: "Red fence" }, { title: "Blue fence" }],
  }),
  tag: async () => ({
    path: `/api/v1/tags/${await create("/api/v1/tags", { name: `tag ${crypto.randomUUID()}` })}`,
    changes: [{ color: "ff0000" }, { color: "0000ff" }],
  }),
  board: async () => ({
    path: `/api/v1/boards/${await create("/api/v1/boards", { name: "Fences", description: "Fences", gateway_id: home.gateway_id })}`,
    changes: [{ description: "Red" }, { description: "Blue" }],
  }),
  webhook: async () => ({
    path: `${onBoard}/webhooks/${await create(`${onBoard}/webhooks`, { description: "Deploys" })}`,
    changes: [{ description: "Red" }, { description: "Blue" }],
  }),
  agent: async () => ({
    path: `/api/v1/agents/${await create("/api/v1/agents", { name: `Painter ${crypto.randomUUID()}`, board_id: home.board_id })}`,
    changes: [{ soul_template: "Red" }, { soul_template: "Blue" }],
  }),
  "pull gateway": async () => ({
    path: `/api/v1/gateways/${await create("/api/v1/gateways", { name: "Pull", kind: "pull" })}`,
    changes: [{ name: "Red" }, { name: "Blue" }],
  }),
  "gateway with a host": async () => ({
    path: `/api/v1/gateways/${home.gateway_id}`,
    changes: [{ name: "Red" }, { name: "Blue" }],
    stays: true,
  }),
  approval: async () => ({
    path: `${onBoard}/approvals/${await create(`${onBoard}/approvals`, { action_type: "deploy", confidence: 90, description: "Deploy" })}`,
    changes: [{ status: "approved" }, { status: "rejected" }],
    stays: true,
  }),
};

test.each(Object.keys(kinds))(
  "when two people edit a %s, the second edit is refused because the resource has changed, and no change is lost",
  async (kind) => {
    const { path, changes, stays } = await kinds[kind]!();
    const seen = tagOf(await read(path));
    expect(seen).toMatch(/^"[\w-]{43}"$/);
    const first = await call("PATCH", path, changes[0], ifMatch(seen));
    expect(first.status).toBe(200);
    const kept = await read(path);
    const second = await call("PATCH", path, changes[1], ifMatch(seen));
    expect([second.status, second.body]).toEqual([412, { detail: "The resource has changed." }]);
    expect(tagOf(second)).toBe(tagOf(kept));
    expect((await read(path)).text).toBe(kept.text);
    expect(kept.body).toMatchObject(changes[0]);
    if (stays) return;
    expect((await call("DELETE", path, undefined, ifMatch(seen))).status).toBe(412);
    expect((await read(path)).status).toBe(200);
    expect((await call("DELETE", path, undefined, ifMatch(tagOf(kept)))).status).toBe(200);
  },
);

test.each(Object.keys(kinds))("a PATCH of a %s answers with the ETag that the next read has", async (kind) => {
  const { path, changes } = await kinds[kind]!();
  for (const change of changes) {
    const written = await call("PATCH", path, change, ifMatch("*"));
    const now = await read(path);
    expect([written.status, written.text, tagOf(written)]).toEqual([200, now.text, tagOf(now)]);
  }
});

test("of several editors who write at the same moment, exactly one succeeds", async () => {
  const { path } = await kinds["task"]!();
  const seen = tagOf(await read(path));
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => call("PATCH", path, { title: `Editor ${index}` }, ifMatch(seen))),
  );
  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(["200", "412", "412", "412", "412", "412"]);
  const winner = answers.find(({ status }) => status === 200)!;
  expect((await read(path)).text).toBe(winner.text);
});

test("If-Match may list several tags, including those of encoded answers; weak tags never match", async () => {
  const { path, changes } = await kinds["tag"]!();
  const tag = tagOf(await read(path));
  for (const refused of [`W/${tag}`, '"other"', "", "other", tag.slice(1, -1), `"${"x".repeat(5_000)}"`])
    expect((await call("PATCH", path, changes[0], ifMatch(refused))).status, refused).toBe(412);
  const listed = await call("PATCH", path, changes[0], ifMatch(`"other", ${tag.replace(/"$/, '-br"')}`));
  expect(listed.status).toBe(200);
  expect((await call("PATCH", path, changes[1], ifMatch(" * "))).status).toBe(200);
});

test("a conditional write to a resource that does not exist, or that the client may not see, is 404", async () => {
  const stranger = await world.tenant("stranger");
  const { path, changes } = await kinds["task"]!();
  expect((await call("PATCH", `${onBoard}/tasks/${crypto.randomUUID()}`, changes[0], ifMatch("*"))).status).toBe(404);
  const theirs = await world.call("PATCH", path, { token: stranger.owner.token, body: changes[0], headers: ifMatch("*") });
  expect(theirs.status).toBe(404);
});

test("an agent can write a task with the ETag of its own reads and of its own writes", async () => {
  const id = await create(`${onBoard}/tasks`, { title: "Claim me" });
  const path = `/api/v1/agent/boards/${home.board_id}/tasks/${id}`;
  const asLead = (method: string, body?: unknown, headers = {}) =>
    world.call(method, path, { agent: home.lead.token, headers, body });
  const seen = tagOf(await asLead("GET"));
  const assigned = await asLead("PATCH", { assigned_agent_id: home.worker.id }, ifMatch(seen));
  expect(assigned.status).toBe(200);
  expect((await asLead("PATCH", { assigned_agent_id: null }, ifMatch(seen))).status).toBe(412);
  expect((await asLead("PATCH", { assigned_agent_id: null }, ifMatch(tagOf(assigned)))).status).toBe(200);
});

test("a POST ignores If-Match", async () => {
  expect((await call("POST", `${onBoard}/tasks`, { title: "New" }, ifMatch('"other"'))).status).toBe(200);
});

test("a heartbeat changes the ETag of an agent, because the answer says when the agent was last seen", async () => {
  const path = `/api/v1/agents/${home.worker.id}`;
  const before = await read(path);
  await world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token, body: {} });
  const after = await read(path);
  expect(after.body.last_seen_at).not.toBe(before.body.last_seen_at);
  expect(tagOf(after)).not.toBe(tagOf(before));
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("patch" as const), body: patchOfTask() }),
  fc.record({ kind: fc.constant("comment" as const) }),
  fc.record({ kind: fc.constant("other task" as const) }),
  fc.record({ kind: fc.constant("tag" as const), name: fc.constantFrom("Red", "Blue") }),
  fc.record({ kind: fc.constant("read" as const) }),
);

function patchOfTask() {
  return fc.record(
    {
      title: fc.constantFrom("Fence", "Gate"),
      priority: fc.constantFrom("low", "high"),
      description: fc.constantFrom(null, "Long"),
      status: fc.constantFrom("inbox", "in_progress"),
    },
    { requiredKeys: [] },
  );
}

test("whatever happens to a task, its ETag changes exactly when the answer that shows the task changes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const label = await create("/api/v1/tags", { name: `label ${crypto.randomUUID()}` });
      const tasks = `${onBoard}/tasks`;
      const path = `${tasks}/${await create(tasks, { title: "Fence", tag_ids: [label] })}`;
      const known = new Map<string, string>();
      for (const one of steps) {
        const before = await read(path);
        if (one.kind === "patch") await call("PATCH", path, one.body);
        if (one.kind === "comment") await call("POST", `${path}/comments`, { message: "Hello" });
        if (one.kind === "other task") await create(tasks, { title: "Other" });
        if (one.kind === "tag") await call("PATCH", `/api/v1/tags/${label}`, { name: `${one.name} ${label}` });
        const after = await read(path);
        expect(tagOf(after) === tagOf(before), one.kind).toBe(after.text === before.text);
        for (const { text, headers } of [before, after]) known.set(headers.get("etag")!, known.get(headers.get("etag")!) ?? text);
        expect(known.get(tagOf(after))).toBe(after.text);
        expect((await call("GET", path, undefined, { "if-none-match": tagOf(before) })).status).toBe(
          after.text === before.text ? 304 : 200,
        );
        const stale = await call("PATCH", path, {}, ifMatch(tagOf(before)));
        expect(stale.status, one.kind).toBe(after.text === before.text ? 200 : 412);
      }
    }),
    { numRuns: 12 },
  );
});
