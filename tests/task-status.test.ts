import { approval_task_links, approvals, task_transitions, tasks } from "@board/core/db/schema";
import { inArray } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./support/http.ts";
import { createTeam, patchTask, type Rule, setRules, STATUSES, type Status, type Team, type Who } from "./support/task-rules.ts";
import type { TaskRow } from "./support/task.ts";
import { createWorld, type World } from "./support/world.ts";

/** Every actor, from every status to every status, under every rule of a board. What is to come of it is written down once more. */
let world: World;
let team: Team;

beforeAll(async () => {
  world = await createWorld();
  team = await createTeam(world, "home");
});
afterAll(() => world.close());

const ACTORS = ["user", "worker", "main agent", "lead"] as const;
type Actor = (typeof ACTORS)[number];
type Kind = "user" | "worker" | "lead";
const KIND: Record<Actor, Kind> = { user: "user", worker: "worker", "main agent": "worker", lead: "lead" };
const agentOf = (actor: Actor) => ({ user: null, worker: team.worker, "main agent": team.main, lead: team.lead })[actor];
const idOf = (actor: Actor): string | null => agentOf(actor)?.id ?? null;
const whoIs = (actor: Actor): Who => (actor === "user" ? { token: team.owner.token } : { agent: agentOf(actor)!.token });

type Assignee =
  | "sent, else nobody"
  | "sent, else unchanged"
  | "nobody"
  | "self"
  | "self when free, else unchanged"
  | "self when free and in progress, or when sent"
  | "the lead"
  | "sent; from review whoever moved it there";

const INTO: Record<Status, Record<Kind, Assignee>> = {
  inbox: { user: "sent, else nobody", worker: "nobody", lead: "sent; from review whoever moved it there" },
  in_progress: { user: "sent, else unchanged", worker: "self", lead: "sent, else unchanged" },
  review: { user: "the lead", worker: "the lead", lead: "the lead" },
  blocked: { user: "sent, else unchanged", worker: "self when free, else unchanged", lead: "sent, else unchanged" },
  done: { user: "sent, else unchanged", worker: "self when free, else unchanged", lead: "sent, else unchanged" },
};
const STAYING: Record<Kind, Assignee> = {
  user: "sent, else unchanged",
  worker: "self when free and in progress, or when sent",
  lead: "sent, else unchanged",
};

interface Case {
  from: Status;
  to: Status;
  held: string | null;
  sent: string | null | undefined;
  /** The second worker has moved the task to review before. */
  reviewed: boolean;
}

function assigneeOf(actor: Actor, { from, to, held, sent, reviewed }: Case): string | null {
  switch (from === to ? STAYING[KIND[actor]] : INTO[to][KIND[actor]]) {
    case "sent, else nobody":
      return sent ?? null;
    case "sent, else unchanged":
      return sent === undefined ? held : sent;
    case "nobody":
      return null;
    case "self":
      return idOf(actor);
    case "self when free, else unchanged":
      return held ?? idOf(actor);
    case "self when free and in progress, or when sent":
      return sent !== undefined || to === "in_progress" ? (held ?? idOf(actor)) : held;
    case "the lead":
      return team.lead.id;
    case "sent; from review whoever moved it there":
      if (from !== "review") return sent ?? null;
      return reviewed ? team.second.id : null;
  }
}

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

interface Made {
  answer: Answer;
  before: TaskRow;
  after: TaskRow;
  /** Recorded by it. */
  moves: (typeof task_transitions.$inferSelect)[];
}

/** Asks for the moves one after the other. */
async function ask(actor: Actor, cases: readonly Case[], placed: readonly TaskRow[], comment?: string): Promise<Made[]> {
  const answers: Answer[] = [];
  for (const [index, { to, sent }] of cases.entries())
    answers.push(await patchTask(world, whoIs(actor), placed[index]!, { status: to, assigned_agent_id: sent, comment }));
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

interface Refusal {
  status: number;
  body: object;
}
const forbidden = (message: string, code = "forbidden"): Refusal => ({
  status: 403,
  body: { detail: { code, message }, code: "forbidden", retryable: false },
});
const closed = (message: string): Refusal => ({ status: 409, body: { detail: { message, blocked_by_task_ids: [] } } });

const seen = ({ answer: { status, body }, before, after, moves }: Made) => ({
  answer: status === 200 ? [status, body.status, body.assigned_agent_id, body.in_progress_at] : [status, body],
  row: { ...after, left_done_at: null, updated_at: null },
  left_done: after.left_done_at !== null && after.left_done_at >= moves[0]!.at,
  touched: after.updated_at > before.updated_at,
  moves: moves.map(({ id: _id, created_at: _created_at, task_id: _task_id, at: _at, ...move }) => move),
});

const untouched = (before: TaskRow) => ({
  row: { ...before, updated_at: null },
  left_done: false,
  touched: false,
  moves: [] as object[],
});

/** What is to come of a move that nothing stops. `at` is the moment that was recorded for it. */
function movedBy(actor: Actor, one: Case, before: TaskRow, at: Date | undefined): ReturnType<typeof seen> {
  const { from, to } = one;
  const assigned_agent_id = assigneeOf(actor, one);
  const { in_progress_at, last_started_at, done_at } = before;
  const times = { in_progress_at, last_started_at, done_at };
  if (from !== to) {
    if (from === "done") times.done_at = null;
    if (to === "done") times.done_at = at!;
    if (to === "inbox") times.in_progress_at = null;
    if (to === "in_progress") {
      times.last_started_at = at!;
      if (from === "done" || !in_progress_at) times.in_progress_at = at!;
    }
  }
  const by = { agent_id: idOf(actor), user_id: actor === "user" ? team.owner_id : null };
  const move = { board_id: team.board_id, from_status: from, to_status: to, in_progress_at: times.in_progress_at, ...by };
  return {
    answer: [200, to, assigned_agent_id, times.in_progress_at?.toISOString() ?? null],
    row: { ...untouched(before).row, ...times, status: to, assigned_agent_id, left_done_at: null },
    left_done: from === "done" && to !== "done",
    touched: from !== to || assigned_agent_id !== before.assigned_agent_id,
    moves: from === to ? [] : [move],
  };
}

const named = ({ from, to, held, sent, reviewed }: Case) => ({ move: `${from} -> ${to}`, held, sent, reviewed });
const outcomes = (cases: readonly Case[], made: readonly Made[]) =>
  made.map((one, index) => ({ ...named(cases[index]!), ...seen(one) }));

/** What is to come of the moves: each is stopped as `stop` says, or else made. */
const wanted = (actor: Actor, cases: readonly Case[], made: readonly Made[], stop: (one: Case) => Refusal | null) =>
  made.map(({ before, moves }, index) => {
    const one = cases[index]!;
    const refusal = stop(one);
    if (!refusal) return { ...named(one), ...movedBy(actor, one, before, moves[0]?.at) };
    return { ...named(one), answer: [refusal.status, refusal.body], ...untouched(before) };
  });

describe("on a board without rules", () => {
  beforeAll(() => setRules(world, team));

  const HOLDERS = ["nobody", "whoever moves it, or a worker", "another worker"] as const;
  const holderOf = (holder: (typeof HOLDERS)[number], actor: Actor) =>
    ({ nobody: null, "whoever moves it, or a worker": idOf(actor) ?? team.worker.id, "another worker": team.second.id })[holder];
  const wishes = (actor: Actor) => (KIND[actor] === "worker" ? [undefined, idOf(actor)] : [undefined, null, team.worker.id]);
  const each = ACTORS.flatMap((actor) => HOLDERS.map((holder) => [actor, holder] as const));

  test.each(each)("a %s makes every move of a task of %s, and whose it is then is as the table says", async (actor, holder) => {
    const held = holderOf(holder, actor);
    for (const [index, sent] of wishes(actor).entries()) {
      const cases = PAIRS.map((pair) => ({ ...pair, held, sent, reviewed: index !== 1 }));
      const made = await ask(actor, cases, await place(cases));
      const elsewhere = KIND[actor] === "worker" && held === team.second.id;
      const mismatch = forbidden("Task is assigned to another agent.", "task_assignee_mismatch");
      expect(outcomes(cases, made)).toEqual(wanted(actor, cases, made, () => (elsewhere ? mismatch : null)));
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
    const held = idOf(actor) ?? team.worker.id;
    const cases = PAIRS.map((pair) => ({ ...pair, held, sent: undefined, reviewed: true }));
    const placed = await place(cases);
    await give(given, placed);
    const made = await ask(actor, cases, placed, given === "a comment" ? "Done as asked" : undefined);
    expect(outcomes(cases, made)).toEqual(wanted(actor, cases, made, (one) => (stops(one, actor) ? says : null)));
  });
});
