import { approvals } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ask, decide } from "./support/approval.ts";
import {
  addApproval,
  addComment,
  changeTask,
  FREE,
  link,
  openTeam,
  outcomeOf,
  readTask,
  type Rule,
  setRules,
  type Status,
  STATUSES,
  type Team,
  type Who,
} from "./support/task-rules.ts";
import { addTask, type TaskRow } from "./support/task.ts";
import type { World } from "./support/world.ts";

let world: World;
let team: Team;
let owner: Who;
let worker: Who;
let lead: Who;

beforeAll(async () => {
  ({ world, team, owner, worker, lead } = await openTeam());
});
afterAll(() => world.close());

const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 8, minute));
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, team, fields);
const change = (who: Who, task: TaskRow, body: object) => changeTask(world, who, task, body);
const refusal = (who: Who, task: TaskRow, body: object) => outcomeOf(world, who, task, body);
const require = (...rules: Rule[]) => setRules(world, team, Object.fromEntries(rules.map((rule) => [rule, true])));
const gate = (message: string) => [409, { message, blocked_by_task_ids: [] }];
const PENDING = gate("Task status cannot be changed while a linked approval is pending.");
const REVIEW = gate("Task can only be marked done from review when the board rule is enabled.");
const APPROVAL = gate("Task can only be marked done when a linked approval has been approved.");
const COMMENT = [422, "Comment is required."];

/** What comes of a move by a person, the worker and the lead, each of a task of its own. */
async function everybody(to: Status, make: () => Promise<TaskRow>) {
  const outcomes = [];
  for (const who of [owner, worker, lead]) outcomes.push(await outcomeOf(world, who, await make(), { status: to }));
  return outcomes;
}
const all = (outcome: unknown[]) => [outcome, outcome, outcome];

describe("a pending approval", () => {
  beforeEach(() => require("block_status_changes_with_pending_approval"));

  test("holds every task that it is linked to, the first and the others", async () => {
    for (const place of [0, 1])
      expect(
        await everybody("in_progress", async () => {
          const [first, other] = [await add(), await add()];
          await addApproval(world, team.board_id, [first.id, other.id]);
          return [first, other][place]!;
        }),
      ).toEqual(all(PENDING));
  });

  test("holds its tasks until it is decided, whichever way, and again when it is taken back", async () => {
    for (const decision of ["approved", "rejected"]) {
      const task = await add();
      const approval = await ask(world, team, { task_id: task.id });
      expect(await refusal(worker, task, { status: "in_progress" })).toEqual(PENDING);
      await decide(world, team, approval.id, decision);
      expect((await change(worker, task, { status: "in_progress" })).status).toBe("in_progress");
      await decide(world, team, approval.id, "pending");
      expect(await refusal(worker, task, { status: "blocked" })).toEqual(PENDING);
    }
  });

  test("holds no other task, and no change that is no move", async () => {
    const [task, other] = [await add(), await add()];
    await addApproval(world, team.board_id, [task.id]);
    expect((await change(owner, other, { status: "done" })).status).toBe("done");
    const body = { status: "inbox", title: "Renamed", assigned_agent_id: team.worker.id, comment: "Meanwhile" };
    expect((await change(owner, task, body)).title).toBe("Renamed");
    expect((await change(worker, task, { status: "inbox", comment: "Waiting" })).status).toBe("inbox");
  });
});

describe("review before done", () => {
  beforeEach(() => require("require_review_before_done"));

  test("is asked of whoever marks it, and only on entering done", async () => {
    for (const status of ["inbox", "in_progress", "blocked"] as const)
      expect(await everybody("done", () => add({ status }))).toEqual(all(REVIEW));
    expect(await everybody("done", () => add({ status: "review" }))).toEqual(all([200, "done"]));
    expect(await everybody("done", () => add({ status: "done" }))).toEqual(all([200, "done"]));
    for (const status of STATUSES.filter((one) => one !== "done"))
      expect(await everybody(status, () => add({ status: "done" }))).toEqual(all([200, status]));
  });
});

describe("an approval for done", () => {
  beforeEach(() => require("require_approval_for_done"));

  const linked =
    (fields: Partial<typeof approvals.$inferInsert>, left_done_at: Date | null = null) =>
    async () => {
      const task = await add({ status: "in_progress", left_done_at });
      await addApproval(world, team.board_id, [(await add()).id, task.id], fields);
      return task;
    };
  const approved = (minute: number) => ({ status: "approved", resolved_at: at(minute) }) as const;

  test("has to be granted: pending, rejected or somebody else's is none", async () => {
    expect(await everybody("done", add)).toEqual(all(APPROVAL));
    expect(await everybody("done", linked({}))).toEqual(all(APPROVAL));
    expect(await everybody("done", linked({ status: "rejected", resolved_at: at(1) }))).toEqual(all(APPROVAL));
    await addApproval(world, team.board_id, [(await add()).id], approved(1));
    expect(await everybody("done", add)).toEqual(all(APPROVAL));
    expect(await everybody("done", linked(approved(1)))).toEqual(all([200, "done"]));
  });

  test("counts only when it was granted after the task last left done", async () => {
    expect(await everybody("done", linked(approved(4), at(5)))).toEqual(all(APPROVAL));
    expect(await everybody("done", linked(approved(5), at(5)))).toEqual(all(APPROVAL));
    expect(await everybody("done", linked(approved(6), at(5)))).toEqual(all([200, "done"]));
  });

  test("of an earlier round stays worthless when there is a newer one that was not granted", async () => {
    const task = await linked(approved(4), at(5))();
    await addApproval(world, team.board_id, [task.id], { status: "rejected", resolved_at: at(6) });
    expect(await refusal(lead, task, { status: "done" })).toEqual(APPROVAL);
    await addApproval(world, team.board_id, [task.id], approved(7));
    expect((await change(lead, task, { status: "done" })).status).toBe("done");
  });

  test("is needed again for a task that was reopened", async () => {
    const task = await add({ status: "review" });
    const grant = async () => decide(world, team, (await ask(world, team, { task_id: task.id })).id, "approved");
    for (const who of [owner, lead]) {
      expect(await refusal(who, task, { status: "done" })).toEqual(APPROVAL);
      await grant();
      await change(who, task, { status: "done" });
      await change(who, task, { status: "in_progress" });
      expect(await refusal(who, task, { status: "done" })).toEqual(APPROVAL);
      await change(who, task, { status: "review" });
    }
    await grant();
    expect((await change(owner, task, { status: "done" })).status).toBe("done");
  });

  test("serves as long as the task stays done, also when it is looked at again", async () => {
    const task = await add({ status: "done" });
    expect((await change(owner, task, { status: "done", title: "Still done" })).title).toBe("Still done");
    expect((await readTask(world, task.id)).left_done_at).toBeNull();
  });

  test("of an approval whose board is another counts for nothing", async () => {
    const other = await world.tenant("other");
    const task = await linked(approved(1))();
    await world.db.update(approvals).set({ board_id: other.board_id }).where(eq(approvals.board_id, team.board_id));
    expect(await refusal(owner, task, { status: "done" })).toEqual(APPROVAL);
  });
});

describe("a comment for review", () => {
  beforeEach(() => require("comment_required_for_review"));

  const started = (assigned_agent_id: string | null = team.worker.id) =>
    add({ status: "in_progress", assigned_agent_id, last_started_at: at(10) });
  /** What comes of moving the worker's task to review after a comment by somebody. */
  async function after(by: { id: string }, minute: number, text = "Done", who = worker) {
    const task = await started();
    await addComment(world, team, task, by, text, at(minute));
    return outcomeOf(world, who, task, { status: "review" });
  }
  const OPEN = [200, "review"];

  test("may come with the move, from anybody", async () => {
    for (const who of [owner, worker, lead]) {
      expect(await refusal(who, await started(), { status: "review" })).toEqual(COMMENT);
      expect((await change(who, await started(), { status: "review", comment: "Look" })).status).toBe("review");
    }
  });

  test("may be the assignee's since the work began, and no older one", async () => {
    expect(await after(team.worker, 9)).toEqual(COMMENT);
    expect(await after(team.worker, 10)).toEqual(OPEN);
    expect(await after(team.worker, 11)).toEqual(OPEN);
    for (const who of [owner, lead]) expect(await after(team.worker, 11, "Done", who)).toEqual(OPEN);
  });

  test("may be the lead's, whose the task becomes, and nobody else's", async () => {
    expect(await after(team.lead, 11)).toEqual(OPEN);
    expect(await after(team.lead, 9)).toEqual(COMMENT);
    expect(await after(team.second, 11)).toEqual(COMMENT);
  });

  test("has to say something", async () => {
    for (const text of ["", " ", "\n\t "]) expect(await after(team.worker, 11, text)).toEqual(COMMENT);
  });

  test("may be of any time for a task whose work never began", async () => {
    const task = await add({ assigned_agent_id: team.worker.id });
    await addComment(world, team, task, team.worker, "Nothing to do", at(0));
    expect((await change(worker, task, { status: "review" })).status).toBe("review");
  });

  test("of a person alone is none", async () => {
    const task = await started(null);
    await change(owner, task, { comment: "Finished?" });
    expect(await refusal(owner, task, { status: "review" })).toEqual(COMMENT);
  });

  test("may be posted before the move, and is needed anew for the next round", async () => {
    const task = await add();
    await change(worker, task, { status: "in_progress" });
    const path = `/api/v1/agent/boards/${team.board_id}/tasks/${task.id}/comments`;
    await world.call("POST", path, { agent: team.worker.token, body: { content: "It shines" } });
    await change(worker, task, { status: "review" });
    await change(lead, task, { status: "inbox", comment: "Not yet" });
    await change(worker, task, { status: "in_progress" });
    expect(await refusal(worker, task, { status: "review" })).toEqual(COMMENT);
    expect((await change(worker, task, { status: "review", comment: "Now it does" })).status).toBe("review");
  });

  test("is asked for on entering review alone", async () => {
    for (const from of STATUSES)
      for (const to of STATUSES) {
        const task = await add({ status: from });
        const stopped = to === "review" && from !== "review";
        expect([from, await outcomeOf(world, owner, task, { status: to })]).toEqual([from, stopped ? COMMENT : [200, to]]);
      }
  });
});

test("the gates are asked in their order", async () => {
  await setRules(world, team, Object.fromEntries(Object.keys(FREE).map((rule) => [rule, true])));
  const task = await add({ status: "in_progress" });
  const approval = await addApproval(world, team.board_id, [task.id]);
  for (const who of [owner, lead]) {
    expect(await refusal(who, task, { status: "done" })).toEqual(PENDING);
    expect(await refusal(who, task, { status: "review" })).toEqual(PENDING);
  }
  await decide(world, team, approval, "rejected");
  for (const who of [owner, lead]) {
    expect(await refusal(who, task, { status: "done" })).toEqual(REVIEW);
    expect(await refusal(who, task, { status: "review" })).toEqual(COMMENT);
  }
  await change(owner, task, { status: "review", comment: "Look" });
  for (const who of [owner, lead]) expect(await refusal(who, task, { status: "done" })).toEqual(APPROVAL);
  await decide(world, team, approval, "approved");
  expect((await change(lead, task, { status: "done" })).status).toBe("done");
});

test("a task that waits for another is put back by a person past every gate", async () => {
  await setRules(world, team, Object.fromEntries(Object.keys(FREE).map((rule) => [rule, true])));
  const task = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await link(world, task, [await add()]);
  await addApproval(world, team.board_id, [task.id]);
  for (const status of ["done", "review"]) expect((await change(owner, task, { status })).status).toBe("inbox");
});
