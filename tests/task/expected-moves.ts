/** The expected result of each move of a task, independent of the implementation: assignee, times and transition. */
import type { task_transitions } from "@board/core/schema/all-tables";
import type { Answer } from "../support/http.ts";
import type { Status, Team, Credential } from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";

export const ACTORS = ["user", "worker", "main agent", "lead"] as const;
export type Actor = (typeof ACTORS)[number];
type Kind = "user" | "worker" | "lead";
export const KIND: Record<Actor, Kind> = { user: "user", worker: "worker", "main agent": "worker", lead: "lead" };
const agentOf = (team: Team, actor: Actor) =>
  ({ user: null, worker: team.worker, "main agent": team.main, lead: team.lead })[actor];
export const idOf = (team: Team, actor: Actor): string | null => agentOf(team, actor)?.id ?? null;
export const credentialOf = (team: Team, actor: Actor): Credential =>
  actor === "user" ? { token: team.owner.token } : { agent: agentOf(team, actor)!.token };

type Assignee =
  | "sent, else unassigned"
  | "sent, else unchanged"
  | "unassigned"
  | "self"
  | "self when unassigned, else unchanged"
  | "self when unassigned and in progress, or when sent"
  | "the lead"
  | "sent; from review the agent that moved it there";

const INTO: Record<Status, Record<Kind, Assignee>> = {
  inbox: { user: "sent, else unassigned", worker: "unassigned", lead: "sent; from review the agent that moved it there" },
  in_progress: { user: "sent, else unchanged", worker: "self", lead: "sent, else unchanged" },
  review: { user: "the lead", worker: "the lead", lead: "the lead" },
  blocked: { user: "sent, else unchanged", worker: "self when unassigned, else unchanged", lead: "sent, else unchanged" },
  done: { user: "sent, else unchanged", worker: "self when unassigned, else unchanged", lead: "sent, else unchanged" },
};
const STAYING: Record<Kind, Assignee> = {
  user: "sent, else unchanged",
  worker: "self when unassigned and in progress, or when sent",
  lead: "sent, else unchanged",
};

export interface MoveCase {
  from: Status;
  to: Status;
  assignee: string | null;
  sent: string | null | undefined;
  /** Whether the second worker moved the task to review earlier. */
  reviewed: boolean;
}

function assigneeOf(team: Team, actor: Actor, { from, to, assignee, sent, reviewed }: MoveCase): string | null {
  switch (from === to ? STAYING[KIND[actor]] : INTO[to][KIND[actor]]) {
    case "sent, else unassigned":
      return sent ?? null;
    case "sent, else unchanged":
      return sent === undefined ? assignee : sent;
    case "unassigned":
      return null;
    case "self":
      return idOf(team, actor);
    case "self when unassigned, else unchanged":
      return assignee ?? idOf(team, actor);
    case "self when unassigned and in progress, or when sent":
      return sent !== undefined || to === "in_progress" ? (assignee ?? idOf(team, actor)) : assignee;
    case "the lead":
      return team.lead.id;
    case "sent; from review the agent that moved it there":
      if (from !== "review") return sent ?? null;
      return reviewed ? team.second.id : null;
  }
}

export interface ExecutedMove {
  answer: Answer;
  before: TaskRow;
  after: TaskRow;
  /** Transitions that the move recorded. */
  moves: (typeof task_transitions.$inferSelect)[];
}

export interface Refusal {
  status: number;
  body: object;
}
export const forbidden = (message: string, code = "forbidden"): Refusal => ({
  status: 403,
  body: { detail: { code, message }, code: "forbidden", retryable: false },
});
export const conflict = (message: string): Refusal => ({ status: 409, body: { detail: { message, blocked_by_task_ids: [] } } });

const NO_RUN = { run_id: null, run_status: null, run_agent_id: null, run_started_at: null, run_ended_at: null, run_count: 0 };

const observedResult = ({ answer: { status, body }, before, after, moves }: ExecutedMove) => ({
  answer: status === 200 ? [status, body.status, body.assigned_agent_id, body.in_progress_at] : [status, body],
  row: { ...after, left_done_at: null, updated_at: null, ...NO_RUN },
  /** The agent whose run on the task is running; null without one. */
  runs: after.run_status === "running" ? after.run_agent_id : null,
  left_done: after.left_done_at !== null && after.left_done_at >= moves[0]!.at,
  touched: after.updated_at > before.updated_at,
  moves: moves.map(({ board_id, from_status, to_status, in_progress_at, agent_id, user_id }) => ({
    board_id,
    from_status,
    to_status,
    in_progress_at,
    agent_id,
    user_id,
  })),
});

const unchangedResult = (before: TaskRow) => ({
  row: { ...before, updated_at: null, ...NO_RUN },
  runs: before.status === "in_progress" ? before.assigned_agent_id : null,
  left_done: false,
  touched: false,
  moves: [] as object[],
});

/** Returns the expected result of a permitted move; `at` is the time recorded for the move. */
function expectedResult(
  team: Team,
  actor: Actor,
  moveCase: MoveCase,
  before: TaskRow,
  at: Date | undefined,
): ReturnType<typeof observedResult> {
  const { from, to } = moveCase;
  const assigned_agent_id = assigneeOf(team, actor, moveCase);
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
  const entersReview = to === "review" && from !== "review";
  const submitted_by_agent_id = entersReview ? (before.assigned_agent_id ?? idOf(team, actor)) : null;
  const by = { agent_id: idOf(team, actor), user_id: actor === "user" ? team.owner_id : null };
  const move = { board_id: team.board_id, from_status: from, to_status: to, in_progress_at: times.in_progress_at, ...by };
  return {
    answer: [200, to, assigned_agent_id, times.in_progress_at?.toISOString() ?? null],
    row: { ...unchangedResult(before).row, ...times, status: to, assigned_agent_id, submitted_by_agent_id, left_done_at: null },
    runs: to === "in_progress" ? assigned_agent_id : null,
    left_done: from === "done" && to !== "done",
    touched: from !== to || assigned_agent_id !== before.assigned_agent_id,
    moves: from === to ? [] : [move],
  };
}

const describeCase = ({ from, to, assignee, sent, reviewed }: MoveCase) => ({
  move: `${from} -> ${to}`,
  assignee,
  sent,
  reviewed,
});
export const actualOutcomes = (cases: readonly MoveCase[], executed: readonly ExecutedMove[]) =>
  executed.map((move, index) => ({ ...describeCase(cases[index]!), ...observedResult(move) }));

/** Returns the expected results of the moves. `stop` returns the refusal of a move, or null when the move is permitted. */
export const expectedOutcomes = (
  team: Team,
  actor: Actor,
  cases: readonly MoveCase[],
  executed: readonly ExecutedMove[],
  stop: (moveCase: MoveCase) => Refusal | null,
) =>
  executed.map(({ before, moves }, index) => {
    const moveCase = cases[index]!;
    const refusal = stop(moveCase);
    if (!refusal) return { ...describeCase(moveCase), ...expectedResult(team, actor, moveCase, before, moves[0]?.at) };
    return { ...describeCase(moveCase), answer: [refusal.status, refusal.body], ...unchangedResult(before) };
  });
