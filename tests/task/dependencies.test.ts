import { task_dependencies, tasks } from "@board/core/schema/all-tables";
import { asc, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addDependencies, eventsOf, getTask, openTeamFixture, setRules } from "../support/task-rules.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, change, outcome: refusal } = await setup(openTeamFixture());
const abroad = await world.tenant("abroad");
const elsewhere = await addBoard(world, team, "Elsewhere");
await setRules(world, elsewhere);

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) =>
  addTask(world, team, { created_at: PAST, updated_at: PAST, ...fields });
const message = expect.any(String);
const CYCLE = [409, "Dependency cycle detected. Remove the cycle before saving."];
const on = (...rows: { id: string }[]) => ({ depends_on_task_ids: rows.map(({ id }) => id) });
const linksOf = async ({ id }: TaskRow) =>
  (
    await world.db
      .select()
      .from(task_dependencies)
      .where(eq(task_dependencies.task_id, id))
      .orderBy(asc(task_dependencies.position))
  ).map(({ depends_on_task_id }) => depends_on_task_id);

describe("setting dependencies", () => {
  test("dependencies are replaced as a whole and stored once each, in the order sent", async () => {
    const [first, second, third] = [await add(), await add({ status: "done" }), await add()];
    for (const who of [owner, lead]) {
      const task = await add();
      const shown = await change(who, task, on(third, first, third, second, first));
      expect(shown).toMatchObject({
        ...on(third, first, second),
        blocked_by_task_ids: [third.id, first.id],
        is_blocked: true,
        status: "inbox",
      });
      expect(await change(who, task, on(second, third))).toMatchObject(on(second, third));
      expect(await linksOf(task)).toEqual([second.id, third.id]);
      expect(await change(who, task, on())).toMatchObject({ ...on(), blocked_by_task_ids: [], is_blocked: false });
      expect(await linksOf(task)).toEqual([]);
    }
  });

  test("dependencies must be other tasks of the same board", async () => {
    const [valid, task] = [await add(), await add()];
    const [neighbour, foreign] = [await addTask(world, elsewhere), await addTask(world, abroad)];
    const unknown = crypto.randomUUID();
    for (const who of [owner, lead]) {
      const missing_task_ids = [unknown, neighbour.id, foreign.id];
      const sent = { depends_on_task_ids: [unknown, valid.id, neighbour.id, foreign.id, unknown] };
      expect(await refusal(who, task, sent)).toEqual([404, { message, missing_task_ids }]);
      expect(await refusal(who, task, on(task))).toEqual([422, "Task cannot depend on itself."]);
      expect(await refusal(who, task, on({ id: unknown }, task))).toEqual([422, "Task cannot depend on itself."]);
    }
    expect(await linksOf(task)).toEqual([]);
  });

  test("a dependency that leads back to the task is refused, at any distance", async () => {
    const [a, b, c, d] = [await add(), await add(), await add(), await add()];
    await addDependencies(world, b, [a]);
    await addDependencies(world, c, [d, b]);
    for (const who of [owner, lead]) {
      expect(await refusal(who, a, on(b))).toEqual(CYCLE);
      expect(await refusal(who, a, on(d, c))).toEqual(CYCLE);
      expect(await refusal(who, a, on({ id: crypto.randomUUID() }, c))).toMatchObject([404, {}]);
    }
    expect((await change(owner, d, on(a))).depends_on_task_ids).toEqual([a.id]);
  });

  test("dependencies may share a common dependency", async () => {
    const [bottom, left, right, top] = [await add(), await add(), await add(), await add()];
    await addDependencies(world, left, [bottom]);
    await addDependencies(world, right, [bottom]);
    expect((await change(owner, top, on(left, right, bottom))).depends_on_task_ids).toHaveLength(3);
  });

  test("a stored cycle elsewhere neither hangs the cycle check nor blocks an edit", async () => {
    const [a, b, task, other] = [await add(), await add(), await add(), await add()];
    await addDependencies(world, a, [b]);
    await addDependencies(world, b, [a]);
    for (const who of [owner, lead]) {
      expect((await change(who, task, on(a))).depends_on_task_ids).toEqual([a.id]);
      expect((await change(who, task, on(other, b))).depends_on_task_ids).toEqual([other.id, b.id]);
    }
    expect(await refusal(owner, other, on(task))).toEqual(CYCLE);
    expect(await refusal(owner, a, on(b, task))).toEqual(CYCLE);
  });

  test("stored dependencies may be sent again, even within a cycle, and can always be cleared", async () => {
    const [a, b] = [await add(), await add()];
    await addDependencies(world, a, [b]);
    await addDependencies(world, b, [a]);
    for (const who of [owner, lead]) {
      expect((await change(who, a, on(b))).updated_at).toBe(PAST.toISOString());
      expect(await eventsOf(world, a)).toEqual([]);
    }
    expect((await change(lead, a, on())).depends_on_task_ids).toEqual([]);
    expect((await change(lead, b, on(a))).depends_on_task_ids).toEqual([a.id]);
    expect(await refusal(lead, a, on(b))).toEqual(CYCLE);
  });

  test("the cycle check covers a chain of 3,000 tasks", async () => {
    const length = 3_000;
    const ids = Array.from({ length }, () => crypto.randomUUID());
    await world.db.insert(tasks).values(ids.map((id) => ({ id, board_id: team.board_id, title: "Link" })));
    const rows = ids
      .slice(1)
      .map((id, index) => ({ task_id: id, depends_on_task_id: ids[index]!, position: 0, board_id: team.board_id }));
    await world.db.insert(task_dependencies).values(rows);
    const [first, last] = [await getTask(world, ids[0]!), await getTask(world, ids.at(-1)!)];
    expect(await refusal(owner, first, on(last))).toEqual(CYCLE);
    expect((await change(owner, await add(), on(last))).is_blocked).toBe(true);
  });

  test("dependencies of a done task cannot change unless the same change reopens it", async () => {
    const first = await add({ status: "done" });
    for (const who of [owner, lead]) {
      const task = await add({ status: "done" });
      const refused = [409, "Cannot change task dependencies after a task is done."];
      expect(await refusal(who, task, on(first))).toEqual(refused);
      expect(await refusal(who, task, { ...on(first), status: "done" })).toEqual(refused);
      expect(await change(who, task, { ...on(first), status: "review" })).toMatchObject({ ...on(first), status: "review" });
    }
  });

  test("workers cannot set dependencies", async () => {
    const [first, task] = [await add(), await add()];
    expect(await refusal(worker, task, on(first))).toMatchObject([403, { code: "task_update_field_forbidden" }]);
  });
});
