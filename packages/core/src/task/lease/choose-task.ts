import { and, type Placeholder, type SQL, sql } from "drizzle-orm";
import { hasPendingApproval } from "../../approval/task-conditions.ts";
import { hasSpentBudget } from "../../budget/task-condition.ts";
import type { Agent } from "../../context/actor.ts";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import { createStatement, createStatementCache } from "../../db/prepared.ts";
import { type Filter, filterBy, keyOf, preparedWhere, presentOf, valuesOf } from "../../lists/filter.ts";
import { isPaused } from "../../memory/paused.ts";
import { boardsOfAgent } from "../../organization/access.ts";
import { boards } from "../../schema/board.sql.ts";
import { tag_assignments, tags } from "../../schema/tag.sql.ts";
import { priorityRank, tasks } from "../../schema/task.sql.ts";
import { hasOpenDependency } from "../dependency/dependency-columns.ts";
import { expiryLimits, hasExpired } from "./lease-expiry.ts";

/** What an agent asks for when it requests its next task. */
interface Choice {
  /** The board to choose from; null means all boards of the agent. */
  board_id: string | null;
  tags: readonly string[];
  /** Whether the agent may get a task although it is already working on one. */
  parallel: boolean;
  /** The boards and tasks to leave out, because a budget has no room for a run on them (docs/reference/budgets.md#work). */
  without: { board_ids: readonly string[]; task_ids: readonly string[] };
}

export interface ChosenTask {
  id: string | null;
  board_id: string | null;
  /** Whether a lease on one of the boards has expired. In that case the choice may be wrong. */
  has_expired: boolean;
}

/** Returns filters for the boards of the agent or, with `board_id`, for only that board if it is one of them. */
export const boardFilters = (actor: Agent, board_id: string | null): Filter[] =>
  presentOf([boardsOfAgent(actor), board_id === null ? null : filterBy("board", board_id, (id) => sql`${boards.id} = ${id}`)]);

const statements = createStatementCache<unknown>();

/**
 * Locks and returns a task. Tasks that the agent is working on come first, then tasks in the inbox that are assigned to it, then,
 * for a worker, free tasks.
 */
export async function chooseTask(ctx: Context<Agent>, choice: Choice): Promise<ChosenTask> {
  const { actor } = ctx;
  const { board_id, tags: slugs, parallel, without } = choice;
  const filters = boardFilters(actor, board_id);
  const limits = expiryLimits(ctx);
  const isFirst = without.board_ids.length + without.task_ids.length === 0;
  const shape = {
    is_lead: actor.is_board_lead,
    is_one_board: board_id !== null,
    has_tags: slugs.length > 0,
    parallel,
    ends_abandoned: limits.idle_since !== null,
  };
  const build = (refused: SQL | null) => buildChoice(filters, shape, refused);
  // Boards and tasks are left out only after a budget without room refused the first choice. Only the statement for this rare
  // case reads budgets.
  const statement = isFirst
    ? statements.get([keyOf(filters), ...Object.values(shape)].join("/"), () => build(null))
    : createStatement<unknown>(build(isRefused(without, ctx.now())));
  const values = { ...valuesOf(filters), ...limits, agent_id: actor.agent_id, slugs: [...slugs] };
  return rowsOf<ChosenTask>(await statement.execute(ctx.db, values))[0]!;
}

const isRefused = ({ board_ids, task_ids }: Choice["without"], now: Date): SQL =>
  sql`(${tasks.board_id} = any(${sql.param([...board_ids])}::uuid[]) or ${tasks.id} = any(${sql.param([...task_ids])}::uuid[])
    or ${hasSpentBudget(now)})`;

interface Shape {
  is_lead: boolean;
  is_one_board: boolean;
  has_tags: boolean;
  parallel: boolean;
  ends_abandoned: boolean;
}

function buildChoice(filters: readonly Filter[], shape: Shape, refused: SQL | null): SQL {
  const agent_id = sql`${placeholder("agent_id")}::uuid`;
  const where = preparedWhere(filters);
  // If the condition compares with a single board, PostgreSQL can read the waiting tasks in the order of their index.
  const onBoard = (condition: SQL) => {
    const home = sql`(select id from home where ${condition})`;
    return shape.is_one_board ? sql`${tasks.board_id} = ${home}` : sql`${tasks.board_id} in ${home}`;
  };
  const hasTag = sql`exists (select 1 from ${tag_assignments} as assignment join ${tags} as tag on tag.id = assignment.tag_id
    where assignment.task_id = ${tasks}.id and tag.slug = any(${placeholder("slugs")}::text[]))`;
  const isWanted = and(shape.has_tags ? hasTag : sql`true`, refused === null ? undefined : sql`not ${refused}`)!;
  const mayStart = onBoard(shape.is_lead ? sql`true` : sql`not only_lead`);
  const isStartable = sql`${mayStart} and ${tasks.status} = 'inbox' and not ${hasOpenDependency} and ${isWanted}
    and not ((select gated from home where id = ${tasks.board_id}) and ${hasPendingApproval})`;
  const order = sql`${priorityRank(tasks.priority)}, ${tasks.due_at}, ${tasks.created_at}, ${tasks.id}`;
  const first = sql`limit 1 for no key update skip locked`;
  const choice = sql`select ${tasks.id}, ${tasks.board_id} from ${tasks}`;
  // The query assumes that no lease has expired. If one has, the choice is discarded. Without `parallel`, the query waits for the
  // lock on the agent's own task, because skipping the locked task would give the agent a second task.
  const mine = shape.parallel
    ? sql`${tasks.lease_expires_at} is null and ${isWanted} order by ${order} ${first}`
    : sql`(${tasks.lease_expires_at} is not null or ${isWanted})
        order by ${tasks.lease_expires_at} is null, ${order} limit 1 for no key update`;
  const free = sql`${choice} where ${isStartable} and ${tasks.assigned_agent_id} is null
    and not exists (select 1 from resumed) and not exists (select 1 from waiting)
    order by ${tasks.assigned_agent_id}, ${order} ${first}`;
  const limits = {
    now: sql`${placeholder("now")}::timestamptz`,
    idle_since: shape.ends_abandoned ? sql`${placeholder("idle_since")}::timestamptz` : null,
  };
  return sql`
    with home as materialized (
      select id, only_lead_can_change_status as only_lead, block_status_changes_with_pending_approval as gated
      from ${boards} where ${where} and not ${isPaused} order by id for key share),
    resumed as materialized (
      ${choice} where ${onBoard(sql`true`)} and ${tasks.assigned_agent_id} = ${agent_id} and ${tasks.status} = 'in_progress'
        and ${mine}),
    waiting as materialized (
      ${choice} where ${isStartable} and ${tasks.assigned_agent_id} = ${agent_id} and not exists (select 1 from resumed)
      order by ${order} ${first}),
    ${shape.is_lead ? sql`` : sql`free as materialized (${free}),`}
    chosen as (
      select id, board_id from resumed union all select id, board_id from waiting
      ${shape.is_lead ? sql`` : sql`union all select id, board_id from free`})
    select chosen.id, chosen.board_id, exists (select 1 from ${boards} where ${where} and ${hasExpired(limits)}) as has_expired
    from (select) as always left join chosen on true`;
}

const placeholder = (name: string): Placeholder => sql.placeholder(name);
