import { marketplace_skills, skill_pack_syncs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { archivePath, createPackCalls, skillFile, startCodeHost } from "../support/code-host.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { setup } from "../support/fixtures.ts";

/** Uses a server, which gives consumers and requests separate connections. */
const host = await setup(startCodeHost());
const { world } = await setup(openServerWorld({ web: host.web }));
const home = await world.tenant("home");
const packs = createPackCalls(world, home);

const runsOf = (id: string) => world.db.select().from(skill_pack_syncs).where(eq(skill_pack_syncs.pack_id, id));

test("one of many concurrent syncs of a pack does the work, and the others get its run", async () => {
  const { id } = await packs.add("acme/raced");
  await host.publish("acme/raced", { "a/SKILL.md": skillFile("a") });
  const ready = host.answers.get(archivePath("acme/raced"))!;
  const released = Promise.withResolvers<void>();
  host.answers.set(archivePath("acme/raced"), (...http) => void released.promise.then(() => ready(...http)));
  let answered = 0;
  const all = Array.from({ length: 8 }, async () => {
    const answer = await packs.sync(id);
    answered += 1;
    if (answered === 7) released.resolve();
    return answer;
  });
  const answers = await Promise.all(all);
  const of = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
  expect([of(200), of(202)]).toEqual([1, 7]);
  const [run, ...more] = await runsOf(id);
  expect([more, run!.status, run!.created]).toEqual([[], "done", 1]);
  expect(new Set(answers.flatMap(({ body }) => body.run_id ?? []))).toEqual(new Set([run!.id]));
  expect(host.requests).toEqual([archivePath("acme/raced")]);
});

test("a duplicated wake-up during concurrent registrations of the same skills stores and counts each skill once", async () => {
  const names = Array.from({ length: 300 }, (_, n) => `s${n}`);
  const { id } = await packs.add("acme/doubled");
  await host.publish("acme/doubled", Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillFile(name)])));
  const { run_id } = (await packs.sync(id, { headers: { prefer: "respond-async" } })).body;
  const job = await packs.job(run_id);
  const register = async (name: string) => {
    const body = { source_url: `https://github.com/acme/doubled/tree/main/${name}`, name: "By hand" };
    const answer = await world.call("POST", "/api/skills/marketplace", { token: home.owner.token, body });
    expect(answer.status).toBe(200);
  };
  await Promise.all([
    deliver(world.context(), job.id),
    deliver(world.context(), job.id),
    ...names.slice(-40).toReversed().map(register),
  ]);
  const { body } = await packs.run(id, run_id);
  expect([body.status, body.synced]).toEqual(["done", 300]);
  expect(body.created).toBeLessThanOrEqual(300);
  expect(await world.db.$count(marketplace_skills)).toBe(301);
  expect((await packs.sync(id)).body).toMatchObject({ synced: 300, created: 0 });
});

test("a request that was stopped until a worker took over its sync leaves the result to the worker", async () => {
  const { id } = await packs.add("acme/stopped");
  await host.publish("acme/stopped", { "a/SKILL.md": skillFile("a") });
  const ready = host.answers.get(archivePath("acme/stopped"))!;
  const answers: (() => void)[] = [];
  host.answers.set(archivePath("acme/stopped"), (...http) => void answers.push(() => ready(...http)));
  const asked = (count: number) => vi.waitUntil(() => answers.length === count, { timeout: 20_000 });
  const stopped = packs.sync(id);
  await asked(1);
  const [run] = await runsOf(id);
  const job = await packs.job(run!.id);
  world.elapse(60_000);
  const working = deliver(world.context(), job.id);
  await asked(2);
  answers[0]!();
  expect([(await stopped).status, (await packs.job(run!.id)).status]).toEqual([202, "running"]);
  answers[1]!();
  await working;
  expect((await packs.run(id, run!.id)).body).toMatchObject({ status: "done", created: 1 });
  expect((await packs.job(run!.id)).status).toBe("done");
});
