import { sql } from "drizzle-orm";
import type { Agent, User } from "../actor.ts";
import { newEvents, type TypedEvent } from "../activity/activity.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { writeTogether } from "../db/together.ts";
import { taskBoardEvents } from "./board-events.ts";
import type { TaskStatus } from "./task.ts";
import { tasks } from "./task.sql.ts";
import { task_transitions } from "./transition.sql.ts";
import { nextMoment } from "./transition.ts";

interface Leaver {
  id: string;
  organization_id: string;
}

/** Where an agent goes on working: a board, or every board of a gateway. */
export type Workplace = { board_id: string } | { gateway_id: string };

/** A task that the agent had, as it was before. */
interface Released {
  id: string;
  board_id: string;
  title: string;
  from_status: TaskStatus;
}

/** The rows that are told of in one statement: their values together must not exceed what the protocol carries. */
const BATCH = 1_000;

/**
 * Frees the tasks of an agent that goes, or of one that moves to another workplace those it leaves behind (contract
 * tasks.md §5.2): what was in progress is back in the inbox, everything else stays where it stands. The agent is held by
 * the caller, so that nobody gives it another task meanwhile; boards are held before tasks.
 */
export async function releaseAgent(
  ctx: Context<User | Agent>,
  { id, organization_id }: Leaver,
  workplace: Workplace | null = null,
): Promise<void> {
  const stays =
    workplace === null
      ? null
      : "board_id" in workplace
        ? sql`id = ${workplace.board_id}`
        : sql`gateway_id = ${workplace.gateway_id}`;
  const found = await ctx.db.execute(sql`
    with home as materialized (
      select id from ${boards}
      where organization_id = ${organization_id} ${stays ? sql`and not (${stays})` : sql``}
        and id in (select board_id from ${tasks} where assigned_agent_id = ${id})
      order by id for key share),
    held as materialized (
      select id, board_id, title, status, created_at from ${tasks}
      where assigned_agent_id = ${id} and board_id in (select id from home)
      order by id for no key update),
    freed as (
      update ${tasks} as task set assigned_agent_id = null, updated_at = now(),
        status = case when held.status = 'in_progress' then 'inbox' else held.status end,
        in_progress_at = case when held.status = 'in_progress' then null else task.in_progress_at end
      from held where task.id = held.id)
    select id, board_id, title, status as from_status from held order by created_at, id`);
  const released = rowsOf<Released>(found);
  for (let at = 0; at < released.length; at += BATCH) await record(ctx, { id, organization_id }, released.slice(at, at + BATCH));
}

async function record(ctx: Context<User | Agent>, leaver: Leaver, released: readonly Released[]): Promise<void> {
  const { organization_id } = leaver;
  const { actor } = ctx;
  const by = actor.type === "agent" ? { agent_id: actor.agent_id } : { user_id: actor.user_id };
  const events = released.map(({ id, board_id, title, from_status }): TypedEvent => {
    const about = { organization_id, board_id, task_id: id, ...by };
    return from_status === "in_progress"
      ? { event_type: "task.status_changed", message: `Task moved to inbox: ${title}.`, ...about }
      : { event_type: "task.updated", message: `Task updated: ${title}.`, ...about };
  });
  const moves = released
    .filter(({ from_status }) => from_status === "in_progress")
    .map(({ id, board_id, from_status }) => ({
      board_id,
      task_id: id,
      from_status,
      to_status: "inbox",
      at: nextMoment(id),
      in_progress_at: null,
      ...by,
    }));
  await writeTogether(ctx, [
    newEvents(ctx, events),
    ...(moves.length > 0 ? [ctx.db.insert(task_transitions).values(moves)] : []),
    ...newBoardEvents(
      ctx,
      released.flatMap((task) => releasedBoardEvents(leaver, task)),
    ),
  ]);
}

function releasedBoardEvents(leaver: Leaver, { id, board_id, from_status }: Released) {
  const moved = from_status === "in_progress";
  return taskBoardEvents(
    { id: board_id, organization_id: leaver.organization_id },
    {
      before: { id, status: from_status, assigned_agent_id: leaver.id },
      after: { id, status: moved ? "inbox" : from_status, assigned_agent_id: null },
      changed_fields: [...(moved ? ["status"] : []), "assigned_agent_id"],
    },
  );
}
