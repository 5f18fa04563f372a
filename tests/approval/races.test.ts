import { setTimeout as pause } from "node:timers/promises";
import { replacePrimaryTask } from "@board/core/approval/primary-task";
import { transaction } from "@board/core/context/context";
import { approval_task_links, approvals, boards, jobs, tasks } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import pg from "pg";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { renew, setup } from "../support/fixtures.ts";
import {
  addTasks,
  listApprovalEvents,
  approvalsPath,
  requestApproval,
  decideApproval,
  listApprovalLinks,
} from "../support/approval.ts";
import { addBoard } from "../support/board.ts";
import type { Answer } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";

let count = 0;

const ROUNDS = [1, 2, 3, 4, 5];

/** Uses a real server, because the embedded database has one connection, which never waits for a lock. */
const { world, url } = await setup(openServerWorld());

beforeEach(async () => {
  world.log.length = 0;
});
const home = renew(() => world.tenant(`home-${++count}`));

const create = (task_ids: readonly string[], board_id = home.board_id): Promise<Answer> =>
  world.call("POST", approvalsPath(board_id), {
    token: home.owner.token,
    body: { action_type: "Race", description: "Why", task_ids },
  });
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const pendingOf = (task_id: string) =>
  world.db
    .select()
    .from(approval_task_links)
    .where(and(eq(approval_task_links.task_id, task_id), eq(approval_task_links.pending, true)));
const unhandled = () => world.log.filter(({ event }) => event === "unhandled");

/** Runs `work` on a separate connection with an open transaction. */
async function inOtherTransaction<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("begin");
    return await work(client);
  } finally {
    await client.end();
  }
}
/** Waits until a connection waits for a lock. */
const waitForBlockedConnection = (client: pg.Client) =>
  vi.waitUntil(
    async () => {
      const found = await client.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return found.rowCount! > 0;
    },
    { timeout: 10_000, interval: 10 },
  );

describe("one pending approval per task", () => {
  test.each(ROUNDS)(
    "of several concurrent approval requests for a task one succeeds, and the others get 409 and name its approval (round %i)",
    async () => {
      const [task_id] = (await addTasks(world, home.board_id, ["Task"])) as [string];
      const answers = await Promise.all(Array.from({ length: 6 }, () => create([task_id])));
      expect(statuses(answers)).toEqual([200, 409, 409, 409, 409, 409]);
      const winner = answers.find(({ status }) => status === 200)!.body;
      for (const { body } of answers.filter(({ status }) => status === 409))
        expect(body.detail.conflicts).toEqual([{ task_id, approval_id: winner.id }]);
      expect(await pendingOf(task_id)).toMatchObject([{ approval_id: winner.id }]);
      expect(await listApprovalEvents(world, home.board_id)).toHaveLength(2);
    },
  );

  test.each(ROUNDS)("requests that name tasks in opposite orders do not deadlock (round %i)", async () => {
    const ids = await addTasks(world, home.board_id, ["A", "B", "C", "D"]);
    const backwards = ids.toReversed();
    const answers = await Promise.all([create(ids), create(backwards), create(ids), create(backwards)]);
    expect(statuses(answers)).toEqual([200, 409, 409, 409]);
    for (const id of ids) expect(await pendingOf(id)).toHaveLength(1);
  });

  test.each(ROUNDS)("two approvals of a task that are reopened together do not both become pending (round %i)", async () => {
    const [task_id] = (await addTasks(world, home.board_id, ["Task"])) as [string];
    const first = await requestApproval(world, home, { task_id });
    await decideApproval(world, home, first.id, "approved");
    const second = await requestApproval(world, home, { task_id });
    await decideApproval(world, home, second.id, "rejected");
    const answers = await Promise.all([first, second].map(({ id }) => decideApproval(world, home, id, "pending")));
    expect(statuses(answers)).toEqual([200, 409]);
    expect(await pendingOf(task_id)).toHaveLength(1);
  });

  test("the unique index also refuses a request when the task's other pending approval was stored without locking the task", async () => {
    const [task_id, free] = (await addTasks(world, home.board_id, ["Task", "Free"])) as [string, string];
    const [other] = await world.db.insert(approvals).values({ board_id: home.board_id, action_type: "Other" }).returning();
    const answer = await inOtherTransaction(async (client) => {
      await client.query("insert into approval_task_links (approval_id, task_id, position, pending) values ($1, $2, 0, true)", [
        other!.id,
        task_id,
      ]);
      const waiting = create([free, task_id]);
      await waitForBlockedConnection(client);
      await client.query("commit");
      return waiting;
    });
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      {
        message: "Each task can have only one pending approval.",
        conflicts: [{ task_id, approval_id: other!.id }],
      },
    ]);
    expect([await pendingOf(free), unhandled()]).toEqual([[], []]);
  });
});

describe("concurrent decisions", () => {
  test.each(ROUNDS)("equal concurrent decisions count as one and notify once (round %i)", async () => {
    const { id } = await requestApproval(world, home);
    const answers = await Promise.all(Array.from({ length: 5 }, () => decideApproval(world, home, id, "approved")));
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.resolved_at)).size).toBe(1);
    const types = (await listApprovalEvents(world, home.board_id)).map(({ event_type }) => event_type);
    expect(types.slice(2)).toEqual(["approval.reviewed", "approval.resolved"]);
    const notices = await world.db.select().from(jobs).where(eq(jobs.kind, "notice"));
    expect(notices.filter(({ payload }) => JSON.stringify(payload).includes(id))).toHaveLength(2);
  });

  test.each(ROUNDS)(
    "opposite concurrent decisions run one after the other, and the links match the last decision (round %i)",
    async () => {
      const task_ids = await addTasks(world, home.board_id, ["A", "B"]);
      const { id } = await requestApproval(world, home, { task_ids });
      const answers = await Promise.all(
        ["approved", "pending", "rejected", "pending"].map((status) => decideApproval(world, home, id, status)),
      );
      expect(statuses(answers)).toEqual([200, 200, 200, 200]);
      const [row] = await world.db.select().from(approvals).where(eq(approvals.id, id));
      const pending = row!.status === "pending";
      expect(await listApprovalLinks(world, id)).toEqual(task_ids.map((task_id) => [task_id, pending]));
      expect([row!.resolved_at === null, row!.resolved_by_user_id === null]).toEqual([pending, pending]);
    },
  );
});

describe("approvals and task locks", () => {
  /** Locks the task's row, as every change of the task does. */
  const lockTask = (client: pg.Client, task_id: string) =>
    client.query("select 1 from tasks where id = $1 for no key update", [task_id]);

  test("a request and a decision wait for a transaction that holds the task's lock", async () => {
    const [task_id] = (await addTasks(world, home.board_id, ["Task"])) as [string];
    const first = await inOtherTransaction(async (client) => {
      await lockTask(client, task_id);
      const waiting = create([task_id]);
      await waitForBlockedConnection(client);
      const seen = await client.query("select 1 from approval_task_links where task_id = $1", [task_id]);
      expect(seen.rowCount).toBe(0);
      await client.query("commit");
      return waiting;
    });
    expect(first.status).toBe(200);
    const decided = await inOtherTransaction(async (client) => {
      await lockTask(client, task_id);
      const waiting = decideApproval(world, home, first.body.id, "approved");
      await waitForBlockedConnection(client);
      const seen = await client.query("select 1 from approval_task_links where task_id = $1 and pending", [task_id]);
      expect(seen.rowCount).toBe(1);
      await client.query("commit");
      return waiting;
    });
    expect([decided.status, decided.body.status]).toEqual([200, "approved"]);
  });

  test("a request does not wait for a transaction that only references the task", async () => {
    const [task_id] = (await addTasks(world, home.board_id, ["Task"])) as [string];
    await inOtherTransaction(async (client) => {
      await client.query("select 1 from tasks where id = $1 for key share", [task_id]);
      expect((await create([task_id])).status).toBe(200);
    });
  });
});

describe("removal during requests and decisions", () => {
  const remove = (task_id: string) =>
    transaction(world.context(), async (ctx) => {
      const locked = await ctx.db.select().from(tasks).where(eq(tasks.id, task_id)).for("no key update");
      if (locked.length === 0) return;
      await replacePrimaryTask(ctx, task_id);
      await pause(Math.random() * 10);
      await ctx.db.delete(tasks).where(eq(tasks.id, task_id));
    });

  test.each(ROUNDS)("concurrent removals of tasks of an approval leave the last task as primary (round %i)", async () => {
    const ids = (await addTasks(world, home.board_id, ["A", "B", "C", "D"])) as [string, string, string, string];
    const { id } = (await create(ids)).body;
    await Promise.all(ids.slice(0, 3).map(remove));
    const [row] = await world.db.select().from(approvals).where(eq(approvals.id, id));
    expect([row!.task_id, await listApprovalLinks(world, id)]).toEqual([ids[3], [[ids[3], true]]]);
  });

  test.each(ROUNDS)(
    "removing a task while its approvals are requested and decided causes no server error (round %i)",
    async () => {
      const [a, b] = (await addTasks(world, home.board_id, ["A", "B"])) as [string, string];
      const { id } = await requestApproval(world, home, { task_ids: [b] });
      const [decided, asked] = await Promise.all([
        decideApproval(world, home, id, "approved"),
        create([a, b]),
        remove(b),
        remove(a),
      ]);
      expect(decided.status).toBe(200);
      expect([200, 404, 409]).toContain(asked.status);
      const rows = await world.db.select().from(approvals).where(eq(approvals.board_id, home.board_id));
      expect(rows.map(({ task_id }) => task_id)).toEqual(rows.map(() => null));
      expect(unhandled()).toEqual([]);
    },
  );

  test("requests and decisions wait for the board's removal before they lock a task", async () => {
    const [task_id] = (await addTasks(world, home.board_id, ["Task"])) as [string];
    const { id } = await requestApproval(world, home, { task_id });
    for (const change of [() => decideApproval(world, home, id, "approved"), () => create([task_id])]) {
      const answer = await inOtherTransaction(async (client) => {
        await client.query("select 1 from boards where id = $1 for update", [home.board_id]);
        const waiting = change();
        await waitForBlockedConnection(client);
        await client.query("select 1 from tasks where id = $1 for update nowait", [task_id]);
        await client.query("commit");
        return waiting;
      });
      expect(answer.status).toBe(200);
    }
  });

  test.each(ROUNDS)(
    "removing a board while its approvals are requested and decided causes no server error (round %i)",
    async (round) => {
      const { board_id } = await addBoard(world, home, "Busy");
      const on = { ...home, board_id };
      const task_ids = await addTasks(world, board_id, ["A", "B", "C"]);
      let running = true;
      const failures: string[] = [];
      const work = [0, 1, 2].map(async (index) => {
        while (running) {
          const { status, text, body } = await create([task_ids[index]!, task_ids[(index + 1) % 3]!], board_id);
          if (status >= 500) failures.push(text);
          if (status !== 200) continue;
          for (const decision of ["approved", "pending", "rejected"]) {
            const decided = await decideApproval(world, on, body.id, decision);
            if (decided.status >= 500) failures.push(decided.text);
          }
        }
      });
      await pause(round * 30);
      const removed = await world.call("DELETE", `/api/v1/boards/${board_id}`, { token: home.owner.token });
      running = false;
      await Promise.all(work);
      expect([removed.status, failures, unhandled()]).toEqual([200, [], []]);
      expect(await world.db.select().from(boards).where(eq(boards.id, board_id))).toEqual([]);
      expect(await world.db.select().from(approvals).where(eq(approvals.board_id, board_id))).toEqual([]);
    },
  );
});
