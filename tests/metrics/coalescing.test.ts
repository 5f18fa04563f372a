/** Tests that simultaneous requests share one query only if they must get the same answer. */
import { createCoalescer } from "@board/core/values/coalesce";
import { agents, organization_board_access } from "@board/core/schema/all-tables";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";
import { readDashboard } from "./dashboard-fixture.ts";

const world = await setupWorld();
const [home, abroad] = [await world.tenant("home"), await world.tenant("abroad")];
const [colleague, guest] = [await world.person("colleague"), await world.person("guest")];
await world.join(colleague, home.organization_id, "member", { read: true });
const organization_member_id = await world.join(guest, home.organization_id, "member");
const granted = { organization_member_id, board_id: home.board_id, can_read: true, can_write: false };
await world.db.insert(organization_board_access).values(granted);

beforeEach(() => {
  world.statements.length = 0;
});

const runs = () => world.statements.filter((statement) => statement.includes("agent.last_seen_at >=")).length;
const readMany = (requests: readonly (readonly [Person, object])[]) =>
  Promise.all(requests.map(([who, query]) => readDashboard(world, who, query)));
const many = (count: number, who: Person, query: object = {}) => Array.from({ length: count }, () => [who, query] as const);

test("equal dashboard requests at the same time share one query, even for different people with the same rights", async () => {
  const answers = await readMany([...many(10, home.owner), ...many(10, colleague)]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // How many requests arrive during a run depends on the machine.
  expect(runs()).toBeLessThan(10);
});

test("dashboard requests with different ranges, boards, rights or organizations have separate queries and figures", async () => {
  await addTask(world, home);
  await addTask(world, abroad);
  await addTask(world, abroad);
  const requests = [
    [home.owner, {}],
    [abroad.owner, {}],
    [guest, {}],
    [home.owner, { range: "7d" }],
    [home.owner, { board_id: home.board_id }],
  ] as const;
  const answers = await readMany([...requests, ...requests]);
  const figures = answers.map(({ body }) => [body.range, body.kpis.inbox_tasks]);
  const once = [
    ["24h", 1],
    ["24h", 2],
    ["24h", 1],
    ["7d", 1],
    ["24h", 1],
  ];
  expect(figures).toEqual([...once, ...once]);
  expect(runs()).toBeGreaterThanOrEqual(requests.length);
});

test("a dashboard request sees everything that was written before it, even while other dashboard requests are in progress", async () => {
  for (let count = 2; count < 8; count++) {
    const others = readMany(many(4, home.owner));
    await addTask(world, home);
    const mine = await readDashboard(world, home.owner, {});
    expect(mine.body.kpis.inbox_tasks).toBe(count);
    await others;
  }
});

test("a member who loses the right to a board is refused its figures, even while earlier requests for them run", async () => {
  const others = readMany(many(3, guest, { board_id: home.board_id }));
  await world.db.delete(organization_board_access);
  expect((await readDashboard(world, guest, { board_id: home.board_id })).status).toBe(404);
  await others;
});

test("an error is returned to all requests that share the query, and not to later requests", async () => {
  await world.db.execute(`alter table agents rename column last_seen_at to lost`);
  const failed = await readMany(many(3, home.owner));
  await world.db.execute(`alter table agents rename column lost to last_seen_at`);
  expect(failed.map(({ status }) => status)).toEqual([500, 500, 500]);
  expect((await readDashboard(world, home.owner, {})).status).toBe(200);
  expect(await world.db.$count(agents)).toBeGreaterThanOrEqual(0);
});

test("a request joins a query that has not started, and never a query that has started", async () => {
  const coalescer = createCoalescer<number>();
  const begun: (() => void)[] = [];
  let count = 0;
  const ask = () =>
    coalescer.run("key", async () => {
      const number = ++count;
      await new Promise<void>((resolve) => begun.push(resolve));
      if (number === 2) throw new Error("Second");
      return number;
    });
  const first = ask();
  const joined = [ask(), ask()];
  begun[0]!();
  expect(await first).toBe(1);
  await Promise.resolve();
  const last = ask();
  begun[1]!();
  const results = await Promise.allSettled(joined);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await new Promise((resolve) => setImmediate(resolve));
  begun[2]!();
  expect([await last, count]).toEqual([3, 3]);
});
