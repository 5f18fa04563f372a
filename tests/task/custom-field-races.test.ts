import { setTimeout as pause } from "node:timers/promises";
import { transaction } from "@board/core/context/context";
import { boards, task_custom_field_definitions as definitions, task_custom_field_values } from "@board/core/schema/all-tables";
import { validateFieldValues, storeFieldValues } from "@board/core/task/field/field-value";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addField, createField, FIELDS } from "../support/custom-field.ts";
import type { Answer } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { setup } from "../support/fixtures.ts";

let count = 0;

const ROUNDS = [1, 2, 3, 4, 5];

/** A server with several connections, because the only connection of the embedded database never waits for a lock. */
const { world } = await setup(openServerWorld());
const home = await world.tenant("home");
const second_board: string = (await addBoard(world, home)).board_id;

const token = home.owner.token;
const field = (body: object = {}) => addField(world, home, { field_key: `key_${++count}`, ...body });
const patch = (id: string, body: object) => world.call("PATCH", `${FIELDS}/${id}`, { token, body });
const remove = (id: string) => world.call("DELETE", `${FIELDS}/${id}`, { token });
const path = `/api/v1/boards/${home.board_id}/tasks`;
const create = (custom_field_values?: object) =>
  world.call("POST", path, { token, body: { title: "Task", custom_field_values } });

/** Starts all calls at once, so that they overlap. */
const sendConcurrently = (...calls: (() => Promise<Answer>)[]) => Promise.all(calls.map((start) => start()));
const statuses = (answers: Answer[]) => answers.map(({ status }) => status);
const valuesOf = async (definition_id: string) =>
  (await world.db.select().from(task_custom_field_values).where(eq(task_custom_field_values.definition_id, definition_id))).map(
    ({ value }) => value,
  );

test.each(ROUNDS)("a value and a change of its field's type cannot both succeed (round %i)", async (round) => {
  const { id, field_key } = await field();
  const write = () => create({ [field_key]: "text" });
  const writes = Array.from({ length: 4 }, () => write);
  const change = () => patch(id, { field_type: "integer" });
  const answers = await sendConcurrently(...writes.slice(0, round % 4), change, ...writes.slice(round % 4));
  const changed = answers[round % 4]!.status === 200;
  const written = statuses(answers).filter((status, index) => index !== round % 4 && status === 200);
  expect(written.length > 0).toBe(!changed);
  expect(await valuesOf(id)).toEqual(written.map(() => "text"));
});

/** Waits until a connection waits for a lock. */
async function waitForBlockedConnection(): Promise<void> {
  for (;;) {
    const { rows } = (await world.db.execute(
      sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )) as unknown as { rows: unknown[] };
    if (rows.length > 0) return;
    await pause(5);
  }
}

/** Gives a task a value and starts `meanwhile` between checking and storing it. */
async function writeDuring(task_id: string, sent: Record<string, unknown>, meanwhile: () => Promise<Answer>): Promise<Answer> {
  const [board] = await world.db.select().from(boards).where(eq(boards.id, home.board_id));
  let answer!: Promise<Answer>;
  await transaction(world.context(), async (ctx) => {
    const changes = await validateFieldValues(ctx, board!, sent, task_id, new Map());
    answer = meanwhile();
    await waitForBlockedConnection();
    await storeFieldValues(ctx, task_id, changes);
  });
  return answer;
}

test("a change of a field waits for values that are being stored, and is refused if they do not fit", async () => {
  const task = (await create()).body.id;
  const { id, field_key } = await field();
  const changes = [{ field_type: "integer" }, { validation_regex: "\\d+" }];
  for (const [index, change] of changes.entries()) {
    const answer = await writeDuring(task, { [field_key]: `text ${index}` }, () => patch(id, change));
    expect([answer.status, await valuesOf(id)]).toEqual([409, [`text ${index}`]]);
  }
});

test("deleting a field waits for values that are being stored, and is refused because of them", async () => {
  const task = (await create()).body.id;
  const { id, field_key } = await field();
  const answer = await writeDuring(task, { [field_key]: "text" }, () => remove(id));
  expect([answer.status, await valuesOf(id)]).toEqual([409, ["text"]]);
});

test("a value waits for a change of its field and is checked by the new rules", async () => {
  const { id, field_key } = await field();
  let answer!: Promise<Answer>;
  await world.db.transaction(async (db) => {
    await db.update(definitions).set({ field_type: "integer" }).where(eq(definitions.id, id));
    answer = create({ [field_key]: "text" });
    await waitForBlockedConnection();
  });
  expect((await answer).body.detail).toMatchObject({ field_key, field_type: "integer", reason: "must be an integer" });
});

test.each([
  ["abc", 422],
  ["123", 200],
])("%s is checked by the pattern that its field has when it is stored, not by an earlier one", async (value, status) => {
  const { id, field_key } = await field({ validation_regex: "[a-z]+" });
  let answer!: Promise<Answer>;
  await world.db.transaction(async (db) => {
    await db.update(definitions).set({ validation_regex: "\\d+" }).where(eq(definitions.id, id));
    answer = create({ [field_key]: value });
    await waitForBlockedConnection();
  });
  expect((await answer).status).toBe(status);
});

test("a value waits for the deletion of its field and is refused as unknown", async () => {
  const { id, field_key } = await field();
  let answer!: Promise<Answer>;
  await world.db.transaction(async (db) => {
    await db.delete(definitions).where(eq(definitions.id, id));
    answer = create({ [field_key]: "text" });
    await waitForBlockedConnection();
  });
  expect((await answer).body.detail).toMatchObject({ unknown_field_keys: [field_key] });
});

test.each(ROUNDS)(
  "when two requests set a field's boards at once, the boards of one request are stored as a whole (round %i)",
  async () => {
    const { id } = await field();
    const boardLists = [[second_board], [home.board_id, second_board].toSorted()];
    const answers = await sendConcurrently(...boardLists.map((board_ids) => () => patch(id, { board_ids })));
    expect(statuses(answers)).toEqual([200, 200]);
    const list: { id: string; board_ids: string[] }[] = (await world.call("GET", FIELDS, { token })).body;
    expect(boardLists).toContainEqual(list.find((item) => item.id === id)!.board_ids);
  },
);

test.each(ROUNDS)("one of several fields with the same key is created (round %i)", async () => {
  const field_key = `key_${++count}`;
  const answers = await sendConcurrently(...Array.from({ length: 3 }, () => () => createField(world, home, { field_key })));
  expect(statuses(answers).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
});

test.each(ROUNDS)("fields that lose their boards while tasks are created there cause no deadlock (round %i)", async () => {
  const fields = await Promise.all([field(), field(), field()]);
  const values = Object.fromEntries(fields.map(({ field_key }) => [field_key, "text"]));
  const answers = await sendConcurrently(
    () => create(values),
    ...fields.toReversed().map(
      ({ id }) =>
        () =>
          patch(id, { board_ids: [second_board], label: "Elsewhere" }),
    ),
    () => create(values),
  );
  expect(statuses(answers).filter((status) => status !== 200 && status !== 422)).toEqual([]);
  expect(statuses(answers.slice(1, -1))).toEqual([200, 200, 200]);
});
