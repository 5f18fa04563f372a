import { approvals } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { requestApproval, decideApproval } from "../support/approval.ts";
import {
  addApproval,
  addComment,
  NO_RULES,
  addDependencies,
  openTeamFixture,
  outcomeOf,
  getTask,
  type Rule,
  setRules,
  type Status,
  STATUSES,
} from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, add, change, outcome } = await setup(openTeamFixture());

const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 8, minute));
const require = (...rules: Rule[]) => setRules(world, team, Object.fromEntries(rules.map((rule) => [rule, true])));
const gate = (message: string) => [409, { message, blocked_by_task_ids: [] }];
const PENDING = gate("Task status cannot be changed while a linked approval is pending.");
const REVIEW = gate("Task can only be marked done from review when the board rule is enabled.");
const APPROVAL = gate("Task can only be marked done when a linked approval has been approved.");
const COMMENT = [422, "Comment is required."];

/** Returns the outcomes of one move by a person, the worker and the lead, each with a separate task. */
async function outcomesForAll(to: Status, make: () => Promise<TaskRow>) {
  const outcomes = [];
  for (const who of [owner, worker, lead]) outcomes.push(await outcomeOf(world, who, await make(), { status: to }));
  return outcomes;
}
const all = (outcome: unknown[]) => [outcome, outcome, outcome];

describe("the pending approval gate", () => {
  beforeEach(() => require("block_status_changes_with_pending_approval"));

  test("a pending approval blocks every task linked to it, not only the first", async () => {
    for (const place of [0, 1])
      expect(
        await outcomesForAll("in_progress", async () => {
          const [first, other] = [await add(), await add()];
          await addApproval(world, team.board_id, [first.id, other.id]);
          return [first, other][place]!;
        }),
      ).toEqual(all(PENDING));
  });

  test("a pending approval blocks its tasks until it is decided, and again when it is reopened", async () => {
    for (const decision of ["approved", "rejected"]) {
      const task = await add();
      const approval = await requestApproval(world, team, { task_id: task.id });
      expect(await outcome(worker, task, { status: "in_progress" })).toEqual(PENDING);
      await decideApproval(world, team, approval.id, decision);
      expect((await change(worker, task, { status: "in_progress" })).status).toBe("in_progress");
      await decideApproval(world, team, approval.id, "pending");
      expect(await outcome(worker, task, { status: "blocked" })).toEqual(PENDING);
    }
  });

  test("a pending approval blocks neither other tasks nor changes that keep the status", async () => {
    const [task, other] = [await add(), await add()];
    await addApproval(world, team.board_id, [task.id]);
    expect((await change(owner, other, { status: "done" })).status).toBe("done");
    const body = { status: "inbox", title: "Renamed", assigned_agent_id: team.worker.id, comment: "Meanwhile" };
    expect((await change(owner, task, body)).title).toBe("Renamed");
    expect((await change(worker, task, { status: "inbox", comment: "Waiting" })).status).toBe("inbox");
  });
});

describe("the review gate", () => {
  beforeEach(() => require("require_review_before_done"));

  test("a task can become done only from review, for every actor, and other moves are not restricted", async () => {
    for (const status of ["inbox", "in_progress", "blocked"] as const)
      expect(await outcomesForAll("done", () => add({ status }))).toEqual(all(REVIEW));
    expect(await outcomesForAll("done", () => add({ status: "review" }))).toEqual(all([200, "done"]));
    expect(await outcomesForAll("done", () => add({ status: "done" }))).toEqual(all([200, "done"]));
    for (const status of STATUSES.filter((name) => name !== "done"))
      expect(await outcomesForAll(status, () => add({ status: "done" }))).toEqual(all([200, status]));
  });
});

describe("the approval gate", () => {
  beforeEach(() => require("require_approval_for_done"));

  const linked =
    (fields: Partial<typeof approvals.$inferInsert>, left_done_at: Date | null = null) =>
    async () => {
      const task = await add({ status: "in_progress", left_done_at });
      await addApproval(world, team.board_id, [(await add()).id, task.id], fields);
      return task;
    };
  const approved = (minute: number) => ({ status: "approved", resolved_at: at(minute) }) as const;

  test("a pending approval, a rejected approval and an approval of another task do not allow the move to done", async () => {
    expect(await outcomesForAll("done", add)).toEqual(all(APPROVAL));
    expect(await outcomesForAll("done", linked({}))).toEqual(all(APPROVAL));
    expect(await outcomesForAll("done", linked({ status: "rejected", resolved_at: at(1) }))).toEqual(all(APPROVAL));
    await addApproval(world, team.board_id, [(await add()).id], approved(1));
    expect(await outcomesForAll("done", add)).toEqual(all(APPROVAL));
    expect(await outcomesForAll("done", linked(approved(1)))).toEqual(all([200, "done"]));
  });

  test("an approval allows the move to done only if it was granted after the task last left done", async () => {
    expect(await outcomesForAll("done", linked(approved(4), at(5)))).toEqual(all(APPROVAL));
    expect(await outcomesForAll("done", linked(approved(5), at(5)))).toEqual(all(APPROVAL));
    expect(await outcomesForAll("done", linked(approved(6), at(5)))).toEqual(all([200, "done"]));
  });

  test("an old approval does not allow the move to done after a newer approval was rejected", async () => {
    const task = await linked(approved(4), at(5))();
    await addApproval(world, team.board_id, [task.id], { status: "rejected", resolved_at: at(6) });
    expect(await outcome(lead, task, { status: "done" })).toEqual(APPROVAL);
    await addApproval(world, team.board_id, [task.id], approved(7));
    expect((await change(lead, task, { status: "done" })).status).toBe("done");
  });

  test("a reopened task needs a new approval", async () => {
    const task = await add({ status: "review" });
    const grant = async () =>
      decideApproval(world, team, (await requestApproval(world, team, { task_id: task.id })).id, "approved");
    for (const who of [owner, lead]) {
      expect(await outcome(who, task, { status: "done" })).toEqual(APPROVAL);
      await grant();
      await change(who, task, { status: "done" });
      await change(who, task, { status: "in_progress" });
      expect(await outcome(who, task, { status: "done" })).toEqual(APPROVAL);
      await change(who, task, { status: "review" });
    }
    await grant();
    expect((await change(owner, task, { status: "done" })).status).toBe("done");
  });

  test("a done task that stays done needs no new approval", async () => {
    const task = await add({ status: "done" });
    expect((await change(owner, task, { status: "done", title: "Still done" })).title).toBe("Still done");
    expect((await getTask(world, task.id)).left_done_at).toBeNull();
  });

  test("an approval of another board does not allow the move to done", async () => {
    const other = await world.tenant("other");
    const task = await linked(approved(1))();
    await world.db.update(approvals).set({ board_id: other.board_id }).where(eq(approvals.board_id, team.board_id));
    expect(await outcome(owner, task, { status: "done" })).toEqual(APPROVAL);
  });
});

describe("the review comment gate", () => {
  beforeEach(() => require("comment_required_for_review"));

  const started = (assigned_agent_id: string | null = team.worker.id) =>
    add({ status: "in_progress", assigned_agent_id, last_started_at: at(10) });
  /** Returns the outcome of moving the worker's task to review after a comment by `by`. */
  async function after(by: { id: string }, minute: number, text = "Done", who = worker) {
    const task = await started();
    await addComment(world, team, task, by, text, at(minute));
    return outcomeOf(world, who, task, { status: "review" });
  }
  const OPEN = [200, "review"];

  test("the comment for review may be part of the move, for every actor", async () => {
    for (const who of [owner, worker, lead]) {
      expect(await outcome(who, await started(), { status: "review" })).toEqual(COMMENT);
      expect((await change(who, await started(), { status: "review", comment: "Look" })).status).toBe("review");
    }
  });

  test("a comment of the assignee counts only if it was written since the work began", async () => {
    expect(await after(team.worker, 9)).toEqual(COMMENT);
    expect(await after(team.worker, 10)).toEqual(OPEN);
    expect(await after(team.worker, 11)).toEqual(OPEN);
    for (const who of [owner, lead]) expect(await after(team.worker, 11, "Done", who)).toEqual(OPEN);
  });

  test("a comment of the lead counts, and a comment of another agent does not", async () => {
    expect(await after(team.lead, 11)).toEqual(OPEN);
    expect(await after(team.lead, 9)).toEqual(COMMENT);
    expect(await after(team.second, 11)).toEqual(COMMENT);
  });

  test("a blank comment does not count for review", async () => {
    for (const text of ["", " ", "\n\t "]) expect(await after(team.worker, 11, text)).toEqual(COMMENT);
  });

  test("any comment counts for a task whose work never began", async () => {
    const task = await add({ assigned_agent_id: team.worker.id });
    await addComment(world, team, task, team.worker, "Nothing to do", at(0));
    expect((await change(worker, task, { status: "review" })).status).toBe("review");
  });

  test("a person's comment does not count for review", async () => {
    const task = await started(null);
    await change(owner, task, { comment: "Finished?" });
    expect(await outcome(owner, task, { status: "review" })).toEqual(COMMENT);
  });

  test("a comment may be posted before the move, and the next round needs a new one", async () => {
    const task = await add();
    await change(worker, task, { status: "in_progress" });
    const path = `/api/v1/agent/boards/${team.board_id}/tasks/${task.id}/comments`;
    await world.call("POST", path, { agent: team.worker.token, body: { content: "It shines" } });
    await change(worker, task, { status: "review" });
    await change(lead, task, { status: "inbox", comment: "Not yet" });
    await change(worker, task, { status: "in_progress" });
    expect(await outcome(worker, task, { status: "review" })).toEqual(COMMENT);
    expect((await change(worker, task, { status: "review", comment: "Now it does" })).status).toBe("review");
  });

  test("a comment is required only when a task enters review", async () => {
    for (const from of STATUSES)
      for (const to of STATUSES) {
        const task = await add({ status: from });
        const stopped = to === "review" && from !== "review";
        expect([from, await outcomeOf(world, owner, task, { status: to })]).toEqual([from, stopped ? COMMENT : [200, to]]);
      }
  });
});

test("the gates of a change are checked in a fixed order", async () => {
  await setRules(world, team, Object.fromEntries(Object.keys(NO_RULES).map((rule) => [rule, true])));
  const task = await add({ status: "in_progress" });
  const approval = await addApproval(world, team.board_id, [task.id]);
  for (const who of [owner, lead]) {
    expect(await outcome(who, task, { status: "done" })).toEqual(PENDING);
    expect(await outcome(who, task, { status: "review" })).toEqual(PENDING);
  }
  await decideApproval(world, team, approval, "rejected");
  for (const who of [owner, lead]) {
    expect(await outcome(who, task, { status: "done" })).toEqual(REVIEW);
    expect(await outcome(who, task, { status: "review" })).toEqual(COMMENT);
  }
  await change(owner, task, { status: "review", comment: "Look" });
  for (const who of [owner, lead]) expect(await outcome(who, task, { status: "done" })).toEqual(APPROVAL);
  await decideApproval(world, team, approval, "approved");
  expect((await change(lead, task, { status: "done" })).status).toBe("done");
});

test("no gate stops a person's change from returning a blocked task to the inbox", async () => {
  await setRules(world, team, Object.fromEntries(Object.keys(NO_RULES).map((rule) => [rule, true])));
  const task = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await addDependencies(world, task, [await add()]);
  await addApproval(world, team.board_id, [task.id]);
  for (const status of ["done", "review"]) expect((await change(owner, task, { status })).status).toBe("inbox");
});
