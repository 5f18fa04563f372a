import { approval_task_links, approvals, task_transitions, tasks } from "@board/core/db/schema";
import { inArray } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./support/http.ts";
import {
  ACTORS,
  type Actor,
  type Case,
  closed,
  forbidden,
  idOf,
  KIND,
  type Made,
  outcomes,
  type Refusal,
  wanted,
  whoIs,
} from "./support/task-moves.ts";
import { createTeam, patchTask, type Rule, setRules, STATUSES, type Status, type Team } from "./support/task-rules.ts";
import type { TaskRow } from "./support/task.ts";
import { createWorld, type World } from "./support/world.ts";

/**
 * Every actor, from every status to every status, under every rule of a board. What is to come of it is written down once more
 * in support/task-moves.ts.
 */
let world: World;
let team: Team;

beforeAll(async () => {
  world = await createWorld();
  team = await createTeam(world, "home");
});
afterAll(() => world.close());

const PAST = new Date("2026-01-05T08:00:00.000Z");
const STARTED = new Date("2026-01-06T09:00:00.000Z");
const FINISHED = new Date("2026-01-07T10:00:00.000Z");
const PAIRS = STATUSES.flatMap((from) => STATUSES.map((to) => ({ from, to })));

/** Stores a task for each case: free ones have no work cycle yet, those that somebody has are in one. */
async function place(cases: readonly Case[]): Promise<TaskRow[]> {
  const rows = await world.db
    .insert(tasks)
    .values(
      cases.map(({ from, held }, index) => ({
        board_id: team.board_id,
        title: `${index}`,
        status: from,
        assigned_agent_id: held,
        in_progress_at: held && from !== "inbox" ? STARTED : null,
        last_started_at: STARTED,
        done_at: from === "done" ? FINISHED : null,
        created_at: PAST,
        updated_at: PAST,
      })),
    )
    .returning();
  const placed = cases.map((_, index) => rows.find(({ title }) => title === `${index}`)!);
  const reviewed = placed.filter((_, index) => cases[index]!.reviewed);
  const move = {
    board_id: team.board_id,
    from_status: "in_progress",
    to_status: "review",
    at: FINISHED,
    agent_id: team.second.id,
  };
  if (reviewed.length > 0) await world.db.insert(task_transitions).values(reviewed.map(({ id }) => ({ ...move, task_id: id })));
  return placed;
}

/** Asks for the moves one after the other. */
async function ask(actor: Actor, cases: readonly Case[], placed: readonly TaskRow[], comment?: string): Promise<Made[]> {
  const answers: Answer[] = [];
  for (const [index, { to, sent }] of cases.entries())
    answers.push(await patchTask(world, whoIs(team, actor), placed[index]!, { status: to, assigned_agent_id: sent, comment }));
  const ids = placed.map(({ id }) => id);
  const rows = await world.db.select().from(tasks).where(inArray(tasks.id, ids));
  const moves = await world.db.select().from(task_transitions).where(inArray(task_transitions.task_id, ids));
  return placed.map((before, index) => ({
    answer: answers[index]!,
    before,
    after: rows.find(({ id }) => id === before.id)!,
    moves: moves.filter(({ task_id, at }) => task_id === before.id && at.getTime() !== FINISHED.getTime()),
  }));
}

describe("on a board without rules", () => {
  beforeAll(() => setRules(world, team));

  const HOLDERS = ["nobody", "whoever moves it, or a worker", "another worker"] as const;
  const holderOf = (holder: (typeof HOLDERS)[number], actor: Actor) =>
    ({ nobody: null, "whoever moves it, or a worker": idOf(team, actor) ?? team.worker.id, "another worker": team.second.id })[
      holder
    ];
  const wishes = (actor: Actor) =>
    KIND[actor] === "worker" ? [undefined, idOf(team, actor)] : [undefined, null, team.worker.id];
  const each = ACTORS.flatMap((actor) => HOLDERS.map((holder) => [actor, holder] as const));

  test.each(each)("a %s makes every move of a task of %s, and whose it is then is as the table says", async (actor, holder) => {
    const held = holderOf(holder, actor);
    for (const [index, sent] of wishes(actor).entries()) {
      const cases = PAIRS.map((pair) => ({ ...pair, held, sent, reviewed: index !== 1 }));
      const made = await ask(actor, cases, await place(cases));
      const elsewhere = KIND[actor] === "worker" && held === team.second.id;
      const mismatch = forbidden("Task is assigned to another agent.", "task_assignee_mismatch");
      expect(outcomes(cases, made)).toEqual(wanted(team, actor, cases, made, () => (elsewhere ? mismatch : null)));
    }
  });
});

interface Situation {
  rule: Rule;
  /** What there is beside the task. */
  given: "nothing" | "a pending approval" | "an approval" | "a comment";
  stops: (move: { from: Status; to: Status }, actor: Actor) => boolean;
  says: Refusal;
}

const anyMove: Situation["stops"] = ({ from, to }) => from !== to;
const never: Situation["stops"] = () => false;
const entering =
  (status: Status): Situation["stops"] =>
  ({ from, to }) =>
    to === status && from !== status;

const PENDING = {
  rule: "block_status_changes_with_pending_approval",
  says: closed("Task status cannot be changed while a linked approval is pending."),
} as const;
const APPROVED = {
  rule: "require_approval_for_done",
  says: closed("Task can only be marked done when a linked approval has been approved."),
} as const;
const COMMENTED = {
  rule: "comment_required_for_review",
  says: { status: 422, body: { detail: "Comment is required." } },
} as const;

const SITUATIONS: Situation[] = [
  { ...PENDING, given: "a pending approval", stops: anyMove },
  { ...PENDING, given: "an approval", stops: never },
  {
    rule: "require_review_before_done",
    given: "nothing",
    stops: ({ from, to }) => to === "done" && from !== "review" && from !== "done",
    says: closed("Task can only be marked done from review when the board rule is enabled."),
  },
  { ...APPROVED, given: "nothing", stops: entering("done") },
  { ...APPROVED, given: "a pending approval", stops: entering("done") },
  { ...APPROVED, given: "an approval", stops: never },
  { ...COMMENTED, given: "nothing", stops: entering("review") },
  { ...COMMENTED, given: "a comment", stops: never },
  {
    rule: "only_lead_can_change_status",
    given: "nothing",
    stops: ({ from, to }, actor) => KIND[actor] === "worker" && from !== to,
    says: forbidden("Only board leads can change task status."),
  },
];

async function give(given: Situation["given"], placed: readonly TaskRow[]): Promise<void> {
  if (given === "nothing" || given === "a comment") return;
  const pending = given === "a pending approval";
  const state = pending ? {} : { status: "approved" as const, resolved_at: FINISHED };
  const rows = await world.db
    .insert(approvals)
    .values(placed.map(({ id }) => ({ board_id: team.board_id, action_type: "Deploy", task_id: id, ...state })))
    .returning();
  await world.db
    .insert(approval_task_links)
    .values(rows.map(({ id, task_id }) => ({ approval_id: id, task_id: task_id!, position: 0, pending })));
}

describe.each(SITUATIONS)("where $rule holds, with $given", ({ rule, given, stops, says }) => {
  beforeAll(() => setRules(world, team, { [rule]: true }));

  test.each(ACTORS)("a %s makes the moves that it does not stop", async (actor) => {
    const held = idOf(team, actor) ?? team.worker.id;
    const cases = PAIRS.map((pair) => ({ ...pair, held, sent: undefined, reviewed: true }));
    const placed = await place(cases);
    await give(given, placed);
    const made = await ask(actor, cases, placed, given === "a comment" ? "Done as asked" : undefined);
    expect(outcomes(cases, made)).toEqual(wanted(team, actor, cases, made, (one) => (stops(one, actor) ? says : null)));
  });
});
