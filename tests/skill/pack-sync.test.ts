import { jobs, marketplace_skills, skill_pack_syncs, skill_packs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { queueOf } from "@board/core/job/kinds";
import { scheduled } from "@board/api/work/schedules";
import { syncPack } from "@board/core/skill/sync";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { archivePath, respondWith, skillFile } from "../support/code-host.ts";
import { statusAndBody } from "../support/http.ts";
import { setupPacks, packSyncResult } from "./pack-fixture.ts";

const ASYNC = { headers: { prefer: "respond-async" } };
/** A separate repository for each test, and its pack. */
let repository: string;
let id: string;

const { host, world, home, packs, openPack } = await setupPacks();
beforeEach(async () => {
  ({ repository, id } = await openPack());
});

const urlOf = (tail: string, branch = "main") => `https://github.com/${repository}/tree/${branch}${tail}`;
const result = (synced: number, created: number, updated: number, warnings: unknown = []) =>
  packSyncResult(id, synced, created, updated, warnings);

test("a client that prefers an asynchronous response gets a run, and a consumer of the queue for syncs completes the run", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const answer = await packs.sync(id, ASYNC);
  const open = {
    ok: true,
    run_id: expect.any(String),
    pack_id: id,
    status: "running",
    synced: 0,
    finished_at: null,
    error: null,
  };
  expect([answer.status, answer.body]).toEqual([202, expect.objectContaining(open)]);
  expect(answer.headers.get("preference-applied")).toBe("respond-async");
  expect([answer.headers.get("location"), host.requests]).toEqual([`/api/v1/skills/packs/${id}/sync/${answer.body.run_id}`, []]);
  expect(queueOf("pack.sync")).toBe("syncs");
  await world.drain();
  expect((await packs.run(id, answer.body.run_id)).body).toMatchObject({
    status: "done",
    synced: 1,
    created: 1,
    finished_at: expect.any(String),
  });
});

test("a request during a sync of the pack gets the same run, and the sync is done once", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const first = await packs.sync(id, ASYNC);
  const others = await Promise.all([packs.sync(id), packs.sync(id, ASYNC), packs.sync(id)]);
  expect(others.map(statusAndBody)).toEqual(others.map(() => [202, first.body]));
  expect(others[0]!.headers.get("location")).toBe(first.headers.get("location"));
  await world.drain();
  expect(host.requests).toEqual([archivePath(repository)]);
  expect((await packs.sync(id)).body).toEqual(result(1, 0, 0));
});

test("a slow repository is left to a consumer when the response is due", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const ready = host.answers.get(archivePath(repository))!;
  host.answers.set(archivePath(repository), () => {});
  const { organization_id } = home;
  const actor = { type: "user", user_id: crypto.randomUUID(), active: { organization_id, role: "owner" } };
  const answer = await syncPack({ ...world.context(), actor } as never, id, 200);
  expect(answer).toMatchObject({ ok: true, pack_id: id, status: "running" });
  host.answers.set(archivePath(repository), ready);
  await world.drain();
  const { run_id } = answer as { run_id: string };
  expect((await packs.run(id, run_id)).body).toMatchObject({ status: "done", created: 1 });
});

test("a run whose process died is claimed again, and recorded once", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const { run_id } = (await packs.sync(id, ASYNC)).body;
  const job = await packs.job(run_id);
  const lease_until = new Date(world.now().getTime() + 60_000);
  await world.db.update(jobs).set({ status: "running", attempts: 1, lease_until }).where(eq(jobs.id, job.id));
  expect((await packs.sync(id)).body.run_id).toBe(run_id);
  await deliver(world.context(), job.id);
  expect(host.requests).toEqual([]);
  world.elapse(61_000);
  await Promise.all([deliver(world.context(), job.id), deliver(world.context(), job.id)]);
  expect((await packs.run(id, run_id)).body).toMatchObject({ status: "done", created: 1 });
  expect(host.requests).toEqual([archivePath(repository)]);
});

test("a run that crashes again and again is stopped with an error and does not stay open", async () => {
  const { run_id } = (await packs.sync(id, ASYNC)).body;
  const job = await packs.job(run_id);
  await world.db.update(jobs).set({ status: "running", crashes: 4, lease_until: world.now() }).where(eq(jobs.id, job.id));
  await expect(deliver(world.context(), job.id)).rejects.toThrow(/Worker exited without reporting/);
  expect((await packs.run(id, run_id)).body).toMatchObject({
    ok: false,
    status: "failed",
    error: expect.stringContaining("The sync was stopped after an internal error of this service"),
  });
  expect((await packs.sync(id)).status).toBe(502);
});

test.each([
  ["is not there", null, 502, /no public repository/],
  ["fails", respondWith(Buffer.from("oops"), 500), 502, /500/],
  ["redirects", respondWith(Buffer.alloc(0), 302, { location: "https://169.254.169.254/" }), 502, /302/],
  ["limits us", respondWith(Buffer.alloc(0), 429), 502, /429/],
])("the error of a code host whose repository %s is in the response and in the run", async (_what, answer, status, text) => {
  if (answer) host.answers.set(archivePath(repository), answer);
  const failed = await packs.sync(id);
  expect([failed.status, failed.body.detail]).toEqual([status, expect.stringMatching(text)]);
  const { run_id } = (await packs.sync(id, ASYNC)).body;
  await world.drain();
  expect((await packs.run(id, run_id)).body).toMatchObject({ ok: false, status: "failed", error: failed.body.detail });
  expect(await packs.skills(id)).toEqual([]);
});

test("a pack that is changed or deleted while it is read gets none of the skills that were read", async () => {
  const change = async (what: () => Promise<unknown>) => {
    await host.publish(repository, { "a/SKILL.md": skillFile("a") });
    const answer = host.answers.get(archivePath(repository))!;
    host.answers.set(archivePath(repository), (...http) => void what().then(() => answer(...http)));
    return packs.sync(id);
  };
  const replaced = await change(() => packs.add(repository, { branch: "dev" }));
  expect(replaced.body).toMatchObject({ ok: false, status: "failed", error: expect.stringContaining("changed") });
  await packs.add(repository, { branch: "main" });
  const deleted = await change(() => world.db.delete(skill_packs).where(eq(skill_packs.id, id)));
  expect(deleted.status).toBe(404);
  const of = world.db.$count(marketplace_skills, eq(marketplace_skills.source_url, urlOf("/a")));
  expect(await of).toBe(0);
});

test("no transaction is open while a sync waits for the code host: even with one connection, other requests continue", async () => {
  await host.publish(repository, { "a/SKILL.md": skillFile("a") });
  const answer = host.answers.get(archivePath(repository))!;
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  host.answers.set(archivePath(repository), (...http) => {
    arrived.resolve();
    void released.promise.then(() => answer(...http));
  });
  const syncing = packs.sync(id);
  await arrived.promise;
  expect((await packs.get(id)).status).toBe(200);
  released.resolve();
  expect((await syncing).body).toEqual(result(1, 1, 0));
});

test("runs of pack syncs are kept for a week", async () => {
  const { run_id } = (await packs.sync(id, ASYNC)).body;
  await world.drain();
  const DAY_MS = 86_400_000;
  world.elapse(6 * DAY_MS);
  await scheduled.retention(world.context());
  expect((await packs.run(id, run_id)).status).toBe(200);
  world.elapse(1.1 * DAY_MS);
  await scheduled.retention(world.context());
  expect(await world.db.select().from(skill_pack_syncs)).toEqual([]);
});
