import { rowsOf } from "@board/core/db/database";
import { jobs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import pg from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { listEvents } from "../support/activity.ts";
import { renew, setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { addTask } from "../support/task.ts";

/** A server with several connections, because the only connection of the embedded database never waits for a lock. */
const { world, url } = await setup(openServerWorld());
const outside = new pg.Client(url);
await outside.connect();
afterAll(() => outside.end());

const home = renew((n) => world.tenant(`home ${n}`));

const path = (task_id: string) => `/api/v1/boards/${home.board_id}/tasks/${task_id}`;
const remove = (task_id: string) => world.call("DELETE", path(task_id), { token: home.owner.token });
const comment = (task_id: string) =>
  world.call("POST", `${path(task_id)}/comments`, { agent: home.lead.token, body: { content: "@worker hello" } });
/** Lists every comment of the board, with and without a task. */
const comments = () => listEvents(world, { board_id: home.board_id, event_type: "task.comment" });
const waitForBlockedConnection = () =>
  vi.waitUntil(
    async () => {
      const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      // This query must not run on `outside`: in a transaction, pg_stat_activity keeps the state of its first read.
      return rowsOf(await world.db.execute(waiting)).length > 0;
    },
    { timeout: 10_000, interval: 10 },
  );

test("a comment that is written while the deletion of its task waits is deleted with the task", async () => {
  const task = await addTask(world, home);
  await outside.query("begin");
  await outside.query("select 1 from tasks where id = $1 for key share", [task.id]);
  const removing = remove(task.id);
  await waitForBlockedConnection();
  const posted = await comment(task.id);
  await outside.query("commit");
  expect([posted.status, (await removing).status, await comments()]).toEqual([200, 200, []]);
});

test("a comment on a task that is being deleted gets 404 and notifies no agent", async () => {
  const task = await addTask(world, home);
  const notices = await world.db.$count(jobs, eq(jobs.kind, "notice"));
  await outside.query("begin");
  await outside.query("delete from tasks where id = $1", [task.id]);
  const posting = comment(task.id);
  await waitForBlockedConnection();
  await outside.query("commit");
  const posted = await posting;
  expect([posted.status, posted.body, await comments()]).toEqual([404, { detail: "Not Found" }, []]);
  expect(await world.db.$count(jobs, eq(jobs.kind, "notice"))).toBe(notices);
});

test("a comment does not wait for a change of its task", async () => {
  const task = await addTask(world, home);
  await outside.query("begin");
  await outside.query("update tasks set title = 'Changing' where id = $1", [task.id]);
  const posted = await comment(task.id);
  await outside.query("rollback");
  expect(posted.status).toBe(200);
});

test.each([1, 2, 3, 4, 5])(
  "concurrent comments and a deletion leave no comment and cause no server error (round %i)",
  async () => {
    const task = await addTask(world, home);
    const posted = [1, 2, 3, 4].map(() => comment(task.id));
    const removed = await remove(task.id);
    const lateComment = await comment(task.id);
    const statuses = (await Promise.all(posted)).map(({ status }) => status);
    expect([removed.status, lateComment.status, statuses.filter((status) => status !== 200 && status !== 404)]).toEqual([
      200,
      404,
      [],
    ]);
    expect(await comments()).toEqual([]);
  },
);
