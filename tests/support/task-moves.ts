/** What is to come of each move of a task, written down once more: who has it then, which times it gets, what is recorded. */
import type { task_transitions } from "@board/core/db/schema";
import type { Answer } from "./http.ts";
import type { Status, Team, Who } from "./task-rules.ts";
import type { TaskRow } from "./task.ts";

export const ACTORS = ["user", "worker", "main agent", "lead"] as const;
export type Actor = (typeof ACTORS)[number];
type Kind = "user" | "worker" | "lead";
export const KIND: Record<Actor, Kind> = { user: "user", worker: "worker", "main agent": "worker", lead: "lead" };
const agentOf = (team: Team, actor: Actor) =>
  ({ user: null, worker: team.worker, "main agent": team.main, lead: team.lead })[actor];
export const idOf = (team: Team, actor: Actor): string | null => agentOf(team, actor)?.id ?? null;
export const whoIs = (team: Team, actor: Actor): Who =>
  actor === "user" ? { token: team.owner.token } : { agent: agentOf(team, actor)!.token };

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

export interface Case {
  from: Status;
  to: Status;
  held: string | null;
  sent: string | null | undefined;
  /** The second worker has moved the task to review before. */
  reviewed: boolean;
}

function assigneeOf(team: Team, actor: Actor, { from, to, held, sent, reviewed }: Case): string | null {
  switch (from === to ? STAYING[KIND[actor]] : INTO[to][KIND[actor]]) {
    case "sent, else nobody":
      return sent ?? null;
    case "sent, else unchanged":
      return sent === undefined ? held : sent;
    case "nobody":
      return null;
    case "self":
      return idOf(team, actor);
    case "self when free, else unchanged":
      return held ?? idOf(team, actor);
    case "self when free and in progress, or when sent":
      return sent !== undefined || to === "in_progress" ? (held ?? idOf(team, actor)) : held;
    case "the lead":
      return team.lead.id;
    case "sent; from review whoever moved it there":
      if (from !== "review") return sent ?? null;
      return reviewed ? team.second.id : null;
  }
}

export interface Made {
  answer: Answer;
  before: TaskRow;
  after: TaskRow;
  /** Recorded by it. */
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
export const closed = (message: string): Refusal => ({ status: 409, body: { detail: { message, blocked_by_task_ids: [] } } });

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
function movedBy(team: Team, actor: Actor, one: Case, before: TaskRow, at: Date | undefined): ReturnType<typeof seen> {
  const { from, to } = one;
  const assigned_agent_id = assigneeOf(team, actor, one);
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
  const by = { agent_id: idOf(team, actor), user_id: actor === "user" ? team.owner_id : null };
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
export const outcomes = (cases: readonly Case[], made: readonly Made[]) =>
  made.map((one, index) => ({ ...named(cases[index]!), ...seen(one) }));

/** What is to come of the moves: each is stopped as `stop` says, or else made. */
export const wanted = (
  team: Team,
  actor: Actor,
  cases: readonly Case[],
  made: readonly Made[],
  stop: (one: Case) => Refusal | null,
) =>
  made.map(({ before, moves }, index) => {
    const one = cases[index]!;
    const refusal = stop(one);
    if (!refusal) return { ...named(one), ...movedBy(team, actor, one, before, moves[0]?.at) };
    return { ...named(one), answer: [refusal.status, refusal.body], ...untouched(before) };
  });
