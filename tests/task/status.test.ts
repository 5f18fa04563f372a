/** Tests the moves of every actor from every status to every status, under every rule. Expected results: expected-moves.ts. */
import { approval_task_links, approvals, task_transitions, tasks } from "@board/core/schema/all-tables";
import { inArray } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../support/http.ts";
import {
  ACTORS,
  type Actor,
  type MoveCase,
  conflict,
  forbidden,
  idOf,
  KIND,
  type ExecutedMove,
  actualOutcomes,
  type Refusal,
  expectedOutcomes,
  credentialOf,
} from "./expected-moves.ts";
import { createTeam, patchTask, type Rule, setRules, STATUSES, type Status } from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const team = await createTeam(world, "home");

const PAST = new Date("2026-01-05T08:00:00.000Z");
const STARTED = new Date("2026-01-06T09:00:00.000Z");
const FINISHED = new Date("2026-01-07T10:00:00.000Z");
const PAIRS = STATUSES.flatMap((from) => STATUSES.map((to) => ({ from, to })));

/** Stores a task for each case. A task has a work cycle only if it is assigned. */
async function addTasks(cases: readonly MoveCase[]): Promise<TaskRow[]> {
  const rows = await world.db
    .insert(tasks)
    .values(
      cases.map(({ from, assignee }, index) => ({
        board_id: team.board_id,
        title: `${index}`,
        status: from,
        assigned_agent_id: assignee,
        in_progress_at: assignee && from !== "inbox" ? STARTED : null,
        last_started_at: STARTED,
        done_at: from === "done" ? FINISHED : null,
        created_at: PAST,
        updated_at: PAST,
      })),
    )
    .returning();
  const added = cases.map((_, index) => rows.find(({ title }) => title === `${index}`)!);
  const reviewed = added.filter((_, index) => cases[index]!.reviewed);
  const move = {
    board_id: team.board_id,
    from_status: "in_progress",
    to_status: "review",
    at: FINISHED,
    agent_id: team.second.id,
  };
  if (reviewed.length > 0) await world.db.insert(task_transitions).values(reviewed.map(({ id }) => ({ ...move, task_id: id })));
  return added;
}

/** Makes the moves one after the other. */
async function makeMoves(
  actor: Actor,
  cases: readonly MoveCase[],
  added: readonly TaskRow[],
  comment?: string,
): Promise<ExecutedMove[]> {
  const answers: Answer[] = [];
  for (const [index, { to, sent }] of cases.entries())
    answers.push(
      await patchTask(world, credentialOf(team, actor), added[index]!, { status: to, assigned_agent_id: sent, comment }),
    );
  const ids = added.map(({ id }) => id);
  const rows = await world.db.select().from(tasks).where(inArray(tasks.id, ids));
  const moves = await world.db.select().from(task_transitions).where(inArray(task_transitions.task_id, ids));
  return added.map((before, index) => ({
    answer: answers[index]!,
    before,
    after: rows.find(({ id }) => id === before.id)!,
    moves: moves.filter(({ task_id, at }) => task_id === before.id && at.getTime() !== FINISHED.getTime()),
  }));
}

const ALREADY_CLAIMED: Refusal = {
  status: 409,
  body: { detail: { message: "Task was claimed by another agent.", code: "task_already_claimed" } },
};

describe("moves on a board without rules", () => {
  beforeAll(() => setRules(world, team));

  const HOLDERS = ["no agent", "the moving agent, or a worker", "another worker"] as const;
  const holderOf = (holder: (typeof HOLDERS)[number], actor: Actor) =>
    ({
      "no agent": null,
      "the moving agent, or a worker": idOf(team, actor) ?? team.worker.id,
      "another worker": team.second.id,
    })[holder];
  const assigneesToSend = (actor: Actor) =>
    KIND[actor] === "worker" ? [undefined, idOf(team, actor)] : [undefined, null, team.worker.id];
  const each = ACTORS.flatMap((actor) => HOLDERS.map((holder) => [actor, holder] as const));

  test.each(each)("every move by a %s of a task assigned to %s leads to the expected assignee", async (actor, holder) => {
    const assignee = holderOf(holder, actor);
    for (const [index, sent] of assigneesToSend(actor).entries()) {
      const cases = PAIRS.map((pair) => ({ ...pair, assignee, sent, reviewed: index !== 1 }));
      const executed = await makeMoves(actor, cases, await addTasks(cases));
      const elsewhere = KIND[actor] === "worker" && assignee === team.second.id;
      const mismatch = forbidden("Task is assigned to another agent.", "task_assignee_mismatch");
      const stop = ({ to, sent }: MoveCase) => (sent !== undefined || to === "in_progress" ? ALREADY_CLAIMED : mismatch);
      expect(actualOutcomes(cases, executed)).toEqual(
        expectedOutcomes(team, actor, cases, executed, (move) => (elsewhere ? stop(move) : null)),
      );
    }
  });
});

interface RuleCase {
  rule: Rule;
  /** What exists besides the task. */
  given: "no approval or comment" | "a pending approval" | "an approval" | "a comment";
  stops: (move: { from: Status; to: Status }, actor: Actor) => boolean;
  refusal: Refusal;
}

const anyMove: RuleCase["stops"] = ({ from, to }) => from !== to;
const never: RuleCase["stops"] = () => false;
const entering =
  (status: Status): RuleCase["stops"] =>
  ({ from, to }) =>
    to === status && from !== status;

const PENDING = {
  rule: "block_status_changes_with_pending_approval",
  refusal: conflict("Task status cannot be changed while a linked approval is pending."),
} as const;
const APPROVED = {
  rule: "require_approval_for_done",
  refusal: conflict("Task can only be marked done when a linked approval has been approved."),
} as const;
const COMMENTED = {
  rule: "comment_required_for_review",
  refusal: { status: 422, body: { detail: "Comment is required." } },
} as const;

const RULE_CASES: RuleCase[] = [
  { ...PENDING, given: "a pending approval", stops: anyMove },
  { ...PENDING, given: "an approval", stops: never },
  {
    rule: "require_review_before_done",
    given: "no approval or comment",
    stops: ({ from, to }) => to === "done" && from !== "review" && from !== "done",
    refusal: conflict("Task can only be marked done from review when the board rule is enabled."),
  },
  { ...APPROVED, given: "no approval or comment", stops: entering("done") },
  { ...APPROVED, given: "a pending approval", stops: entering("done") },
  { ...APPROVED, given: "an approval", stops: never },
  { ...COMMENTED, given: "no approval or comment", stops: entering("review") },
  { ...COMMENTED, given: "a comment", stops: never },
  {
    rule: "only_lead_can_change_status",
    given: "no approval or comment",
    stops: ({ from, to }, actor) => KIND[actor] === "worker" && from !== to,
    refusal: forbidden("Only board leads can change task status."),
  },
];

async function addGiven(given: RuleCase["given"], added: readonly TaskRow[]): Promise<void> {
  if (given === "no approval or comment" || given === "a comment") return;
  const pending = given === "a pending approval";
  const state = pending ? {} : { status: "approved" as const, resolved_at: FINISHED };
  const rows = await world.db
    .insert(approvals)
    .values(added.map(({ id }) => ({ board_id: team.board_id, action_type: "Deploy", task_id: id, ...state })))
    .returning();
  await world.db
    .insert(approval_task_links)
    .values(rows.map(({ id, task_id }) => ({ approval_id: id, task_id: task_id!, position: 0, pending })));
}

describe.each(RULE_CASES)("moves under $rule with $given", ({ rule, given, stops, refusal }) => {
  beforeAll(() => setRules(world, team, { [rule]: true }));

  test.each(ACTORS)("a %s makes exactly the moves that the rule permits", async (actor) => {
    const assignee = idOf(team, actor) ?? team.worker.id;
    const cases = PAIRS.map((pair) => ({ ...pair, assignee, sent: undefined, reviewed: true }));
    const added = await addTasks(cases);
    await addGiven(given, added);
    const executed = await makeMoves(actor, cases, added, given === "a comment" ? "Done as asked" : undefined);
    expect(actualOutcomes(cases, executed)).toEqual(
      expectedOutcomes(team, actor, cases, executed, (moveCase) => (stops(moveCase, actor) ? refusal : null)),
    );
  });
});
