import { sql } from "drizzle-orm";
import * as z from "zod";
import { BudgetExhausted } from "../../budget/begin-run.ts";
import { type BoardRow, boardFor } from "../../organization/access.ts";
import type { Agent } from "../../context/actor.ts";
import { type Context, FinalWrites, RetryTransaction, transaction } from "../../context/context.ts";
import { preparedQuery } from "../../db/prepared.ts";
import { DomainError } from "../../values/errors.ts";
import { truncatable } from "../../lists/large-fields.ts";
import { Id, MAX_SLUG, lazyObject } from "../../values/wire.ts";
import { readLatestComments, TaskComment } from "../comment/comment.ts";
import { HeldLease, LeaseSeconds, toHeldLease } from "./lease.ts";
import { boardFilters, type ChosenTask, chooseTask } from "./choose-task.ts";
import { expireLeases } from "./lease-expiry.ts";
import type { LeaseAction } from "./lease-state.ts";
import { Task } from "../task.ts";
import { prepareLeaseChange } from "../update.ts";
import { conditionOf } from "../../lists/filter.ts";

const MAX_TAGS = 50;
export const COMMENTS = 10;
/** The maximum number of boards and tasks that one request skips because a budget has no room for a run on them. */
const MAX_REFUSALS = 20;
/** After this many seconds, an agent without work should ask again. */
const RETRY_AFTER = 60;

export const TakeNextTask = lazyObject(() => ({
  board_id: Id.optional().describe("Board to choose from; by default all boards of the agent."),
  lease_seconds: LeaseSeconds,
  tags: z.array(z.string().max(MAX_SLUG)).max(MAX_TAGS).optional().describe("Slugs: only tasks with one of these tags."),
  parallel: z
    .boolean()
    .default(false)
    .describe("True: another task, although the agent holds one. Without it, an agent that holds a task gets that one again."),
})).meta({ id: "NextTaskRequest" });
export type TakeNextTask = z.infer<typeof TakeNextTask>;

export const NextTask = lazyObject(() => ({
  task: Task.nullable().describe("The task to work on, in progress and assigned to the caller; null without work."),
  lease: HeldLease.nullable().describe("The lease of the task."),
  comments: z.array(TaskComment).describe(`The latest ${COMMENTS} comments on the task, oldest first.`),
  retry_after_seconds: z.int().describe("Seconds after which to ask again; 0 if there is a task."),
  reason: z.literal("budget_exhausted").optional().describe("Why there is no task, when there is work but no budget for it."),
  budget_ids: z.array(Id).optional().describe("The budgets that have no room; only present with `reason`."),
  ...truncatable,
})).meta({ id: "NextTask", description: "The next task of an agent." });
export type NextTask = z.infer<typeof NextTask>;

const NOTHING: NextTask = { task: null, lease: null, comments: [], retry_after_seconds: RETRY_AFTER };

/**
 * Chooses a task for the agent and starts it under a lease, or renews the lease that the agent has
 * (docs/reference/tasks.md#next-task). Agents that ask at the same time get different tasks, because each request skips the tasks
 * that others have locked.
 */
export async function takeNextTask(ctx: Context<Agent>, request: TakeNextTask, max_comments = COMMENTS): Promise<NextTask> {
  const board_id = request.board_id ?? ctx.actor.board_id;
  let taken = await takeOne(ctx, { ...request, board_id, max_comments, ignores_expired: false });
  if (taken === EXPIRED) {
    await expireLeases(ctx, conditionOf(...boardFilters(ctx.actor, board_id)));
    // If a lease is still expired, another transaction has locked its task. The request does not wait for that transaction.
    taken = await takeOne(ctx, { ...request, board_id, max_comments, ignores_expired: true });
  }
  if (taken === null || taken === EXPIRED) return NOTHING;
  if (taken instanceof BudgetExhausted) return withoutBudget(taken);
  const { task, comments } = taken;
  return { task, lease: toHeldLease(task), comments, retry_after_seconds: 0 };
}

const withoutBudget = ({ budget_ids, retry_after_seconds }: BudgetExhausted): NextTask => ({
  ...NOTHING,
  retry_after_seconds,
  reason: "budget_exhausted",
  budget_ids,
});

/** The result of a choice that must not be used, because a lease on one of the boards has expired. */
const EXPIRED = Symbol("expired");

type Taken = Pick<NextTask, "comments"> & { task: Task };
type Outcome = Taken | BudgetExhausted | typeof EXPIRED | null;

interface Wanted extends Omit<TakeNextTask, "board_id"> {
  board_id: string | null;
  max_comments: number;
  ignores_expired: boolean;
}

async function takeOne(ctx: Context<Agent>, wanted: Wanted): Promise<Outcome> {
  try {
    return await transaction<Context<Agent>, Outcome>(ctx, (ctx) => takeWithinBudgets(ctx, wanted));
  } catch (error) {
    if (error instanceof RetryTransaction) return null;
    throw error;
  }
}

/**
 * Takes a task for which all budgets have room (docs/reference/budgets.md#work). If a budget has no room for the chosen task, it
 * chooses another task, which may be on another board or not count toward this budget.
 */
async function takeWithinBudgets(ctx: Context<Agent>, wanted: Wanted): Promise<Outcome | FinalWrites<Outcome>> {
  const { board_id, tags = [], parallel, lease_seconds, max_comments } = wanted;
  const without = { board_ids: [] as string[], task_ids: [] as string[] };
  const action = { type: "begin" as const, lease_seconds, resume: true };
  for (let refused: BudgetExhausted | null = null; ; ) {
    // These statements are sent together. The board is read last, so that its state is at least as recent as the choice.
    const [, chosen, named]: [unknown, ChosenTask, BoardRow | null] = await Promise.all([
      parallel || refused ? null : waitForOwnChoice(ctx),
      chooseTask(ctx, { board_id, tags, parallel, without }),
      board_id === null ? null : boardFor(ctx, board_id, "write"),
    ]);
    if (chosen.has_expired && !wanted.ignores_expired) return EXPIRED;
    if (chosen.id === null) return refused;
    const board: BoardRow = named ?? (await boardFor(ctx, chosen.board_id!, "write"));
    const taken: FinalWrites<Taken> | BudgetExhausted = await begin(ctx, board, chosen.id, action, max_comments).catch(
      chooseAgain,
    );
    if (!(taken instanceof BudgetExhausted)) return taken;
    refused ??= taken;
    if (taken.is_final || without.board_ids.length + without.task_ids.length === MAX_REFUSALS) return taken;
    if (taken.is_of_task) without.task_ids.push(chosen.id);
    else without.board_ids.push(board.id);
  }
}

/**
 * Begins the lease. The comments and everything that the lease depends on are read in one round trip. The writes are sent with the
 * COMMIT.
 */
async function begin(
  ctx: Context<Agent>,
  board: BoardRow,
  task_id: string,
  action: LeaseAction,
  max_comments: number,
): Promise<FinalWrites<Taken>> {
  const [writes, comments] = await Promise.all([
    prepareLeaseChange(ctx, board, task_id, action),
    readLatestComments(ctx, board.id, task_id, max_comments),
  ]);
  return new FinalWrites(async () => ({ task: await writes.run(), comments }));
}

const lockOwnChoice = preparedQuery(
  () => sql`select pg_advisory_xact_lock(hashtextextended('next task of ' || ${sql.placeholder("agent_id")}::text, 0))`,
);

/**
 * Makes concurrent requests of one agent wait for each other. The second request then finds the task that the first one took,
 * instead of taking another.
 */
const waitForOwnChoice = ({ db, actor: { agent_id } }: Context<Agent>) => lockOwnChoice(db).execute({ agent_id });

/**
 * Returns the error of a budget without room. After any other refusal, the transaction starts again, because a rule can refuse
 * the chosen task only if the task or its board has changed since the choice.
 */
function chooseAgain(error: unknown): BudgetExhausted {
  if (error instanceof BudgetExhausted) return error;
  throw error instanceof DomainError ? new RetryTransaction() : error;
}
