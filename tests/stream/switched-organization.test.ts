import { setTimeout as pause } from "node:timers/promises";
import { organization_members } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { renew } from "../support/fixtures.ts";
import { FEED, postComment } from "../support/feed.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { listen, type Listener } from "../support/sse.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import type { Tenant } from "../support/world.ts";

const POLL_MS = 20;
const FEED_STREAM = `${FEED}/stream`;
const AGENT_STREAM = "/api/v1/agents/stream";

let member_id: string;
let first_task: TaskRow;
let second_task: TaskRow;

/** A person who owns the first organization and administers the second. Each test has two new organizations. */
const { world, home: first } = await setupTenants({ streams: { poll_ms: POLL_MS } });
const second = renew(() => world.tenant(`second of ${first.owner.subject}`));
beforeEach(async () => {
  member_id = await world.join(first.owner, second.organization_id, "admin", { read: true });
  [first_task, second_task] = [await addTask(world, first), await addTask(world, second)];
  await switchTo(first);
});

async function switchTo({ organization_id }: Tenant): Promise<void> {
  const path = "/api/v1/organizations/me/active";
  const answer = await world.call("PATCH", path, { token: first.owner.token, body: { organization_id } });
  expect(answer.status).toBe(200);
}
const follow = (path: string, last?: string) =>
  listen((target, init) => world.app.request(target, init), path, { token: first.owner.token, last });
const messages = (listener: Listener) => listener.events().map(({ data }) => data.comment.message);
const agentNames = (listener: Listener) => listener.events().map(({ data }) => data.agent.name);
const fewPolls = () => pause(POLL_MS * 6);
const comment = async (message: string) => {
  await postComment(world, first, first_task, `${message} in first`);
  await postComment(world, second, second_task, `${message} in second`);
};
const rename = async ({ owner, worker }: Tenant, name: string) =>
  expect((await world.call("PATCH", `/api/v1/agents/${worker.id}`, { token: owner.token, body: { name } })).status).toBe(200);

test("an open comment feed stays with its organization when the person switches to another one", async () => {
  const before = await follow(FEED_STREAM);
  await comment("one");
  await before.waitForEvents(1);
  await switchTo(second);
  await fewPolls();
  const after = await follow(FEED_STREAM);
  await comment("two");
  await Promise.all([before.waitForEvents(2), after.waitForEvents(1)]);
  await fewPolls();
  expect([messages(before), messages(after)]).toEqual([["one in first", "two in first"], ["two in second"]]);
  await Promise.all([before.close(), after.close()]);
});

test("an open agent stream stays with its organization when the person switches to another one", async () => {
  const listener = await follow(AGENT_STREAM);
  await switchTo(second);
  await fewPolls();
  await rename(second, "Other");
  await switchTo(first);
  await rename(first, "Own");
  await listener.waitForEvents(1);
  await fewPolls();
  expect(agentNames(listener)).toEqual(["Own"]);
  await listener.close();
});

test.each([FEED_STREAM, AGENT_STREAM])(
  "the stream %s resumes in its organization after the person has switched",
  async (path) => {
    const opened = await follow(path);
    await comment("one");
    await rename(first, "One");
    await opened.waitForEvents(1);
    await opened.close();
    await switchTo(second);
    await comment("two");
    await rename(second, "Other");
    await switchTo(first);
    await rename(first, "Two");
    await switchTo(second);
    const resumed = await follow(path, opened.lastId());
    await resumed.waitForEvents(1);
    await fewPolls();
    expect(path === FEED_STREAM ? messages(resumed) : agentNames(resumed)).toEqual([
      path === FEED_STREAM ? "two in first" : "Two",
    ]);
    await resumed.close();
  },
);

test("a stream ends with the membership in its organization, and is not resumed in another one", async () => {
  await switchTo(second);
  const listener = await follow(FEED_STREAM);
  await comment("one");
  await listener.waitForEvents(1);
  await switchTo(first);
  await fewPolls();
  await world.db.delete(organization_members).where(eq(organization_members.id, member_id));
  await comment("two");
  await listener.waitForEnd();
  expect([messages(listener), listener.text.includes("retry:")]).toEqual([["one in second"], false]);
  const refused = await world.call("GET", FEED_STREAM, {
    token: first.owner.token,
    headers: { "last-event-id": listener.lastId()! },
  });
  expect([refused.status, refused.body]).toEqual([404, { detail: "Not Found" }]);
});
