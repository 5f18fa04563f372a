/**
 * Removes or locks rows while the delivery of a notification about them is recorded. Only a PostgreSQL server has enough
 * connections for this.
 */
import { activity_events, agents, boards, jobs, tasks } from "@board/core/schema/all-tables";
import { setup } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { and, eq, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { untilServiceIsVictim, waitForBlockedStatement } from "../support/blocked-statement.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import type { Tenant, World } from "../support/world.ts";

const { world } = await setup(openServerWorld());
const { url, messages } = await setup(startFakeGateway({ token: "test-token-123" }));

/** Delivers the notification of a new task while a removal delays its commit. Returns the notifications at the host. */
async function deliverDuring(
  home: Tenant,
  remove: (db: World["db"], task_id: string) => Promise<unknown>,
  beforeCommit: (db: World["db"]) => Promise<unknown> = async () => {},
): Promise<string[]> {
  messages.length = 0;
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  const { body: task } = await world.call("POST", path, { token: home.owner.token, body: { title: "Sweep" } });
  const removed = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  const removing = world.db.transaction(async (db) => {
    await remove(db as unknown as World["db"], task.id);
    removed.resolve();
    await mayCommit.promise;
    await beforeCommit(db as unknown as World["db"]);
  });
  await removed.promise;
  const delivering = world.drain();
  await waitForBlockedStatement(world.db);
  mayCommit.resolve();
  const [removal] = await Promise.allSettled([removing, delivering]);
  if (removal.status === "rejected") throw removal.reason;
  await delivering;
  return messages.map(({ message }) => message.split("\n")[0]!).filter((header) => header === "NEW TASK ADDED");
}

const removeRow = (db: World["db"], table: PgTable, id: string) => db.execute(sql`delete from ${table} where id = ${id}`);
const recorded = ({ organization_id }: Tenant) =>
  world.db
    .select({ agent_id: activity_events.agent_id, task_id: activity_events.task_id })
    .from(activity_events)
    .where(and(eq(activity_events.organization_id, organization_id), eq(activity_events.event_type, "task.lead_notified")));

test("a notification whose agent is removed while its delivery is recorded is sent once, and its event names no agent", async () => {
  const home = await world.tenant("agent", url);
  const sent = await deliverDuring(home, (db) => removeRow(db, agents, home.lead.id));
  expect(sent).toEqual(["NEW TASK ADDED"]);
  expect(await recorded(home)).toEqual([{ agent_id: null, task_id: expect.any(String) }]);
});

test("a notification whose task is removed while its delivery is recorded is sent once, and its event names no task", async () => {
  const home = await world.tenant("task", url);
  const sent = await deliverDuring(home, (db, task_id) => removeRow(db, tasks, task_id));
  expect(sent).toEqual(["NEW TASK ADDED"]);
  expect(await recorded(home)).toEqual([{ agent_id: home.lead.id, task_id: null }]);
});

test("a notification whose board is removed while its delivery is recorded is sent once, and leaves no event", async () => {
  const home = await world.tenant("board", url);
  const sent = await deliverDuring(home, (db) => removeRow(db, boards, home.board_id));
  expect(sent).toEqual(["NEW TASK ADDED"]);
  expect(await recorded(home)).toEqual([]);
});

test("a delivery whose record is rolled back by a deadlock is recorded again instead of being sent again", async () => {
  await untilServiceIsVictim(async (round) => {
    const home = await world.tenant(`deadlock ${round}`, url);
    const lock = (db: World["db"], task_id: string) => db.select().from(tasks).where(eq(tasks.id, task_id)).for("update");
    // The delivery's transaction holds the job and waits for the task. It began to wait first, so the deadlock ends it.
    const lockJob = (db: World["db"]) =>
      db.select().from(jobs).where(eq(jobs.organization_id, home.organization_id)).for("update");
    const sent = await deliverDuring(home, lock, lockJob);
    expect(sent).toEqual(["NEW TASK ADDED"]);
    expect(await recorded(home)).toEqual([{ agent_id: home.lead.id, task_id: expect.any(String) }]);
  });
});
