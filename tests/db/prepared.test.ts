import { insertEvents } from "@board/core/activity/activity";
import { runWrite } from "@board/core/db/prepared-write";
import { activity_events } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { openTeamFixture, setRules, taskPath } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner } = await setup(openTeamFixture());
await setRules(world, team);

async function statementsOf(method: string, path: string, body?: object): Promise<string[]> {
  world.statements.length = 0;
  expect((await world.call(method, path, { ...owner, body })).status).toBe(200);
  return [...world.statements];
}

test("the statements of a change are the same for all values and any number of notified agents, so that plans are kept", async () => {
  const [first, second] = [await addTask(world, team), await addTask(world, team)];
  const comment = (task: { id: string }, message: string) =>
    statementsOf("POST", `${taskPath(team, task.id)}/comments`, { message });
  expect(await comment(second, "@lead Ready?")).toEqual(await comment(first, "@lead and also @worker: ready?"));
  const patch = (task: { id: string }, body: object) => statementsOf("PATCH", taskPath(team, task.id), body);
  expect(await patch(second, { priority: "low", title: "B" })).toEqual(await patch(first, { title: "A", priority: "high" }));
});

test("the statements of a page are the same for similar limits and all offsets", async () => {
  const page = (query: string) => statementsOf("GET", `/api/v1/boards?${query}`);
  expect(await page("limit=7&offset=3")).toEqual(await page("limit=6&offset=1"));
});

test("a client that requests a page with every limit causes only a few different SQL statements", async () => {
  const texts = new Set<string>();
  for (let limit = 1; limit <= 200; limit++)
    for (const text of await statementsOf("GET", `/api/v1/boards/${team.board_id}/tasks?limit=${limit}`)) texts.add(text);
  // Each usual limit has its own statement, and a second one if its page may be too large.
  expect(texts.size).toBeLessThan(20);
});

test("each combination of filters reads its own tasks, in any order of the requests", async () => {
  const mine = await addTask(world, team, { title: "Mine", assigned_agent_id: team.worker.id });
  const free = await addTask(world, team, { title: "Free" });
  const done = await addTask(world, team, { title: "Reviewed" });
  await world.call("PATCH", taskPath(team, done.id), { ...owner, body: { status: "review" } });
  const ids = [mine.id, free.id, done.id];
  const expected: Record<string, string[]> = {
    "": ids,
    "unassigned=true": [free.id],
    [`assigned_agent_id=${team.worker.id}`]: [mine.id],
    // A move to review assigns the task to the lead.
    [`assigned_agent_id=${team.lead.id}`]: [done.id],
    "status=inbox": [mine.id, free.id],
    "status=review": [done.id],
    "status=inbox,review": ids,
    "status=review,done": [done.id],
    "status=blocked": [],
    "status=blocked,review": [done.id],
    "status=inbox&unassigned=true": [free.id],
  };
  const found: Record<string, string[]> = {};
  for (const sort of ["priority", "-updated_at"])
    for (const query of Object.keys(expected)) {
      const path = `/api/v1/boards/${team.board_id}/tasks?limit=200&sort=${sort}&${query}`;
      const { items } = (await world.call("GET", path, owner)).body;
      found[query] = items.map(({ id }: { id: string }) => id).filter((id: string) => ids.includes(id));
      expect(found[query]!.toSorted(), `${sort} ${query}`).toEqual(expected[query]!.toSorted());
    }
});

test("a write in a transaction is rolled back when the transaction fails", async () => {
  const event = { event_type: "board.updated", organization_id: team.organization_id, message: "Undone" } as never;
  const attempt = world.db.transaction(async (db) => {
    await runWrite({ db }, insertEvents([event]));
    throw new Error("rolled back");
  });
  await expect(attempt).rejects.toThrow("rolled back");
  expect(await world.db.select().from(activity_events).where(eq(activity_events.message, "Undone"))).toEqual([]);
});

test("an event whose text was cut within a character is stored with a replacement character", async () => {
  const message = `Cut ${"👍".slice(0, 1)}`;
  const event = { event_type: "board.updated", organization_id: team.organization_id, message } as never;
  await runWrite({ db: world.db }, insertEvents([event, event]));
  const stored = await world.db.select().from(activity_events).where(eq(activity_events.message, "Cut \ufffd"));
  expect(stored).toHaveLength(2);
});
