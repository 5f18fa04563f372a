import { jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Job } from "@board/core/job/operate";
import { transaction } from "@board/core/context/context";
import { enqueue } from "@board/core/job/job";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addJob, addNotices, getJob, getPayloadJob } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

beforeEach(async () => {
  await world.db.delete(jobs);
});

const call = (method: string, path: string, body?: object, person: Person = home.owner) =>
  world.call(method, `/api/v1/jobs${path}`, { token: person.token, body });
const list = async (query = "") => (await call("GET", query)).body;
const ids = async (query = "") => (await list(query)).items.map(({ id }: Job) => id);
const die = (id: string) =>
  world.db
    .update(jobs)
    .set({ status: "dead", attempts: 12, last_error: "connection refused", finished_at: world.now() })
    .where(eq(jobs.id, id));
async function addDead(tenant = home): Promise<string> {
  const id = await addJob(world, tenant);
  await die(id);
  return id;
}

test("an admin sees what a job is about, its state and its error, but none of its texts and secrets", async () => {
  const webhook = await createWebhook(world, home);
  const payload_id = await postPayload(world, webhook, '"inside the payload"');
  const notify = await getPayloadJob(world, payload_id);
  await addNotices(world, home, ["zoe"]);
  await transaction(world.context(), (ctx) =>
    enqueue(
      ctx,
      "agent.provision",
      { agent_id: home.worker.id, generation: 1, user_id: null, reset: false, wake: false, deliver: false },
      { organization_id: home.organization_id, gateway_id: home.gateway_id, secret: "token-of-the-agent" },
    ),
  );
  const answer = await call("GET", "");
  const [provision, notice, told] = answer.body.items;
  expect(told).toEqual({
    id: notify.id,
    kind: "webhook.notify",
    status: "queued",
    attempts: 0,
    max_attempts: 12,
    last_error: null,
    held_by: null,
    waits_for: null,
    gateway_id: home.gateway_id,
    board_id: home.board_id,
    agent_id: null,
    webhook_id: webhook.id,
    payload_id,
    run_id: null,
    subscription_id: null,
    created_at: notify.created_at.toISOString(),
    next_attempt_at: notify.run_at.toISOString(),
    finished_at: null,
  });
  expect(notice).toMatchObject({ kind: "notice", gateway_id: home.gateway_id, board_id: null });
  expect(provision).toMatchObject({ kind: "agent.provision", agent_id: home.worker.id, board_id: home.board_id });
  for (const text of ["Hello zoe", "agent:zoe:main", "token-of-the-agent", "inside the payload", "secret"])
    expect(answer.text, text).not.toContain(text);
});

test("jobs are listed newest first, by pages that do not shift when jobs are added", async () => {
  const all: string[] = [];
  for (let n = 0; n < 5; n++) all.unshift(await addJob(world, home));
  const first = await list("?limit=2");
  expect(first).toMatchObject({ limit: 2, next_cursor: expect.any(String) });
  await addJob(world, home);
  const [newest] = (await list("?limit=2&cursor=")).items;
  expect(all).not.toContain(newest.id);
  const second = await list(`?limit=2&cursor=${first.next_cursor}`);
  const third = await list(`?limit=2&cursor=${second.next_cursor}`);
  expect([first, second, third].flatMap(({ items }) => items.map(({ id }: Job) => id))).toEqual(all);
  expect(third.next_cursor).toBeNull();
});

test.each([
  "cursor=x",
  "cursor=LTE",
  `cursor=${"9".repeat(41)}`,
  "status=lost",
  "kind=lost",
  "board_id=1",
  "limit=0",
  "limit=201",
])("a list of jobs with %s is refused with 422", async (query) => {
  expect((await call("GET", `?${query}`)).status).toBe(422);
});

test("jobs are filtered by status, kind, board and gateway", async () => {
  const dead = await addDead();
  const queued = await addJob(world, home, { gateway_id: home.gateway_id });
  const [notice] = await addNotices(world, home, ["zoe"]);
  expect(await ids("?status=dead")).toEqual([dead]);
  expect(await ids("?kind=notice")).toEqual([notice]);
  expect(await ids(`?board_id=${home.board_id}`)).toEqual([queued, dead]);
  expect(await ids(`?board_id=${crypto.randomUUID()}`)).toEqual([]);
  expect(await ids(`?gateway_id=${home.gateway_id}&kind=webhook.notify`)).toEqual([queued]);
});

test("a dead job that is redriven is queued with all its attempts, and cannot be redriven a second time", async () => {
  const id = await addDead();
  const redriven = await call("POST", `/${id}/redrive`);
  expect([redriven.status, redriven.body]).toMatchObject([200, { id, status: "queued", attempts: 0, finished_at: null }]);
  const again = await call("POST", `/${id}/redrive`);
  expect([again.status, again.body.detail]).toEqual([409, "The job is not dead. Only dead jobs can be redriven."]);
  expect((await call("POST", `/${crypto.randomUUID()}/redrive`)).status).toBe(404);
});

test("one of several simultaneous redrives of a job succeeds, and none does while the job runs", async () => {
  const id = await addDead();
  const answers = await Promise.all([1, 2, 3, 4].map(() => call("POST", `/${id}/redrive`)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
  const [, answer] = await Promise.all([world.drain(), call("POST", `/${id}/redrive`)]);
  expect(answer.status).toBe(409);
  expect((await getJob(world, id)).status).toBe("done");
});

test("a dead job whose work another job does is not redriven", async () => {
  const dedupe_key = "probe/one";
  const dead = await addJob(world, home, { dedupe_key });
  await die(dead);
  await addJob(world, home, { dedupe_key });
  const refused = await call("POST", `/${dead}/redrive`);
  expect([refused.status, refused.body.detail]).toEqual([409, "Another job does the work of this one. Delete this one."]);
});

test("the dead jobs that match a filter are redriven, and no others", async () => {
  const [notice] = await addNotices(world, home, ["zoe"]);
  await die(notice!);
  const webhook_job = await addDead();
  const foreign = await addDead(abroad);
  expect((await call("POST", "/redrive", { kind: "notice" })).body).toEqual({ ok: true, redriven: 1, has_more: false });
  expect(await ids("?status=dead")).toEqual([webhook_job]);
  expect((await call("POST", "/redrive", { board_id: home.board_id })).body).toMatchObject({ redriven: 1 });
  expect((await call("POST", "/redrive", {})).body).toMatchObject({ redriven: 0 });
  expect((await getJob(world, foreign)).status).toBe("dead");
});

test("a dead job can be deleted, and a queued one cannot", async () => {
  const dead = await addDead();
  expect((await call("DELETE", `/${dead}`)).body).toEqual({ ok: true });
  expect((await call("DELETE", `/${dead}`)).status).toBe(404);
  const queued = await addJob(world, home);
  const refused = await call("DELETE", `/${queued}`);
  expect([refused.status, refused.body.detail]).toEqual([409, "The job is not dead. Only dead jobs can be deleted."]);
  expect(await ids()).toEqual([queued]);
});

test("a webhook payload keeps showing that its delivery failed when the dead job is deleted", async () => {
  const webhook = await createWebhook(world, home);
  const payload_id = await postPayload(world, webhook);
  const { id } = await getPayloadJob(world, payload_id);
  await die(id);
  const delivery = async () =>
    (await world.call("GET", `${webhook.endpoint_path}/payloads/${payload_id}`, { token: home.owner.token })).body.delivery;
  const before = await delivery();
  expect(before).toMatchObject({ status: "failed", attempts: 12, last_error: "connection refused" });
  await call("DELETE", `/${id}`);
  expect(await delivery()).toEqual(before);
  await scheduled.retention(world.context());
});

test("jobs of another organization are neither listed nor redriven nor deleted", async () => {
  const foreign = await addDead(abroad);
  expect(await ids()).toEqual([]);
  expect((await call("POST", `/${foreign}/redrive`)).status).toBe(404);
  expect((await call("DELETE", `/${foreign}`)).status).toBe(404);
  expect((await getJob(world, foreign)).status).toBe("dead");
});
