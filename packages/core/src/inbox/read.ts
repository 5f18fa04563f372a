import { and, eq, type SQL, sql } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import type { AgentStatus } from "../agent/agent-status.ts";
import { approvals } from "../schema/approval.sql.ts";
import { ASIDES } from "../approval/task-conditions.ts";
import { hasRoom, roomOf } from "../budget/room.ts";
import { isPaused } from "../memory/paused.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { preparedQuery, type Values } from "../db/prepared.ts";
import { inlineLimit } from "../db/stable-plan.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { readHorizon } from "../stream/horizon.ts";
import { hasOpenDependency } from "../task/dependency/dependency-columns.ts";
import { priorityRank, tasks } from "../schema/task.sql.ts";
import type { TaskStatus } from "../task/task-status.ts";
import { inbox_acknowledgements, inbox_messages } from "../schema/inbox.sql.ts";

interface InboxMessageRow {
  id: string;
  kind: string;
  text: string;
  /** Whether the end of the text was cut off. */
  is_cut: boolean;
  author_id: string | null;
  task_id: string | null;
  created_at: string;
}

/** What is waiting for one agent, as read by one statement. Times in the lists are strings, as PostgreSQL formats them. */
export interface InboxRow {
  agent_id: string;
  name: string;
  status: AgentStatus;
  board_id: string | null;
  is_board_lead: boolean;
  /** The interval of the agent's heartbeats, such as `10m`. */
  every: string | null;
  paused: boolean;
  /** Whether the agent holds a lease. */
  leased: boolean;
  unread: number;
  mine: number;
  free: number;
  review: number;
  approvals_decided: number;
  messages: InboxMessageRow[];
  tasks: {
    id: string;
    board_id: string;
    title: string;
    status: TaskStatus;
    priority: string;
    due_at: string | null;
    is_blocked: boolean;
    lease: { fence: number; expires_at: string } | null;
  }[];
}

/** Counting stops at this number, so that a long backlog does not take longer to read. */
export const MAX_COUNT = 100;
export const MAX_TASKS = 10;

const countOf = (from: SQL) =>
  sql<number>`(select count(*)::int from (select 1 ${from} limit ${sql.raw(String(MAX_COUNT))}) as found)`;

/** The unread messages of an agent. After the agent moves to another board, messages that it got on the old board are not shown. */
const unread = sql`from ${inbox_messages} where ${inbox_messages.agent_id} = ${agents.id}
  and ${inbox_messages.organization_id} = ${gateways.organization_id}
  and ${inbox_messages.board_id} is not distinct from ${agents.board_id} and ${inbox_messages.acknowledged_at} is null`;

/**
 * Whether a message was stored before the oldest open transaction began. No later commit can add an earlier message, so an agent
 * that acknowledges all messages up to this one has seen all of them. `horizon`, if given, replaces the snapshot's horizon.
 */
const isSettled = sql`${inbox_messages.tx} < coalesce(${sql.placeholder("horizon")}::text::xid8, pg_snapshot_xmin(pg_current_snapshot()))`;

const messageList = (max_messages: number) => sql<
  InboxRow["messages"]
>`coalesce((select jsonb_agg(to_jsonb(shown) - 'tx' - 'seq' order by shown.tx, shown.seq)
  from (select ${inbox_messages.id}, ${inbox_messages.kind},
    left(${inbox_messages.text}, ${sql.placeholder("max_chars")}::int) as text,
    char_length(${inbox_messages.text}) > ${sql.placeholder("max_chars")}::int as is_cut, ${inbox_messages.author_id},
    ${inbox_messages.task_id}, ${inbox_messages.created_at}, ${inbox_messages.tx}, ${inbox_messages.seq}
    ${unread} and ${isSettled} order by ${inbox_messages.tx}, ${inbox_messages.seq}
    limit ${inlineLimit(max_messages)}) as shown), '[]')`;

const now = sql`${sql.placeholder("now")}`;
const mayBegin = hasRoom(now);

/**
 * The agent's own tasks that are not blocked, are not on a paused board, and are not stopped by a budget. A main agent can have
 * tasks on all boards of its gateway.
 */
const ownTasks = sql`from ${tasks} join ${boards} on ${boards.id} = ${tasks.board_id}
  where ${tasks.assigned_agent_id} = ${agents.id} and ${tasks.status} in ('inbox', 'in_progress')
  and ${boards.organization_id} = ${gateways.organization_id} and ${boards.gateway_id} = ${agents.gateway_id}
  and (${agents.board_id} is null or ${boards.id} = ${agents.board_id})
  and not ${hasOpenDependency} and not ${isPaused} and (${tasks.status} = 'in_progress' or ${mayBegin})`;

/**
 * The tasks that a worker may take or the lead may assign. Tasks with an expired lease count, because the next request for a task
 * ends the lease. The conditions keep PostgreSQL from using an index over the tasks of all organizations.
 */
const freeTasks = sql`from (
    select ${tasks.id} from ${tasks} where ${tasks.board_id} = ${boards.id} and ${tasks.status} = 'inbox'
      and ${tasks.assigned_agent_id} is null and not ${hasOpenDependency} and ${mayBegin}
    union all select ${tasks.id} from ${tasks} where ${tasks.board_id} = ${boards.id} and ${tasks.status} = 'in_progress'
      and ${tasks.assigned_agent_id} is distinct from ${agents.id}
      and coalesce(${tasks.lease_expires_at}, 'infinity') <= ${now}::timestamptz and not ${hasOpenDependency}
      and ${mayBegin}
  ) as free where ${agents.is_board_lead} or not ${boards.only_lead_can_change_status}`;

const reviewTasks = sql`from ${tasks} where ${tasks.board_id} = ${boards.id} and ${tasks.status} = 'review'
  and ${agents.is_board_lead}`;

const taskList = (from: SQL) => sql`(select jsonb_agg(to_jsonb(shown) - 'rank' - 'created_at'
    order by shown.status = 'inbox', shown.rank, shown.due_at nulls last, shown.created_at, shown.id)
  from (select ${tasks.id}, ${tasks.board_id}, ${tasks.title}, ${tasks.status}, ${tasks.priority}, ${tasks.due_at},
    ${tasks.created_at}, ${priorityRank(tasks.priority)} as rank, ${hasOpenDependency} as is_blocked,
    case when ${tasks.lease_expires_at} is not null
      then jsonb_build_object('fence', ${tasks.lease_fence}, 'expires_at', ${tasks.lease_expires_at}) end as lease
    ${from} order by ${tasks.status} = 'inbox', rank, ${tasks.due_at} nulls last, ${tasks.created_at}, ${tasks.id}
    limit ${sql.raw(String(MAX_TASKS))}) as shown)`;

/** Approvals that were decided since the lead last acknowledged a message or, if it never did, since the lead was created. */
const decidedApprovals = sql`from ${approvals} where ${approvals.board_id} = ${boards.id} and ${agents.is_board_lead}
  and ${approvals.action_type} not in ${ASIDES}
  and ${approvals.resolved_at} > coalesce((select ${inbox_acknowledgements.acknowledged_at} from ${inbox_acknowledgements}
    where ${inbox_acknowledgements.agent_id} = ${agents.id}), ${agents.created_at})`;

const columnsFor = (max_messages: number) => ({
  agent_id: agents.id,
  name: agents.name,
  status: agents.status,
  board_id: agents.board_id,
  is_board_lead: agents.is_board_lead,
  every: sql<string | null>`${agents.heartbeat_config} ->> 'every'`,
  paused: sql<boolean>`${boards.id} is not null and ${isPaused}`,
  // `exists` is avoided, because PostgreSQL may hash the leases of all organizations for it. `lease_expires_at` is avoided too,
  // because PostgreSQL would use the index of all leases.
  leased: sql<boolean>`coalesce((select true from ${tasks} join ${boards} on ${boards.id} = ${tasks.board_id}
    where ${tasks.assigned_agent_id} = ${agents.id} and ${tasks.status} in ('inbox', 'in_progress')
    and ${tasks.lease_seconds} is not null and ${boards.organization_id} = ${gateways.organization_id} limit 1), false)`,
  unread: countOf(unread),
  mine: countOf(ownTasks),
  free: countOf(freeTasks),
  review: countOf(reviewTasks),
  approvals_decided: countOf(decidedApprovals),
  messages: messageList(max_messages),
  tasks: sql<
    InboxRow["tasks"]
  >`coalesce(case when ${agents.is_board_lead} then ${taskList(reviewTasks)} else ${taskList(ownTasks)} end, '[]')`,
});

const selectInboxes = (db: Db, agent: SQL, max_messages: number) =>
  db
    .select(columnsFor(max_messages))
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .leftJoin(boards, and(eq(boards.id, agents.board_id), eq(boards.organization_id, gateways.organization_id)))
    .crossJoinLateral(roomOf({ organization_id: gateways.organization_id, board_id: boards.id, agent_id: agents.id, now }))
    .where(agent);

/**
 * Each of these limits has its own prepared statement. With the limit as a parameter, PostgreSQL would plan the statement at every
 * use.
 */
const FEW_MESSAGES = 10;
const MANY_MESSAGES = 50;

const isAgent = sql`${agents.id} = ${sql.placeholder("agent_id")}`;
const oneWithFew = preparedQuery((db) => selectInboxes(db, isAgent, FEW_MESSAGES));
const oneWithMany = preparedQuery((db) => selectInboxes(db, isAgent, MANY_MESSAGES));
const several = preparedQuery((db) =>
  selectInboxes(db, sql`${agents.id} = any(${sql.placeholder("agent_ids")}::uuid[])`, MANY_MESSAGES),
);

/** The maximum number of bytes that a character takes in JSON. `MESSAGES_PART` is the part of an answer that messages may fill. */
const BYTES_PER_CHAR = 6;
const MESSAGES_PART = 0.8;

const maxChars = ({ settings }: Context) =>
  Math.floor((settings.budgets.answer_max_bytes * MESSAGES_PART) / BYTES_PER_CHAR / MANY_MESSAGES);

/** Reads the inbox of one agent with one statement, including at most `max_messages` (at most 50) messages. */
export async function readInbox(ctx: Context, agent_id: string, max_messages: number): Promise<InboxRow | undefined> {
  const query = max_messages <= FEW_MESSAGES ? oneWithFew : oneWithMany;
  const read = (values: Values) => query(ctx.db).execute({ agent_id, ...values });
  const [row] = await readSettled(ctx, max_messages <= FEW_MESSAGES ? FEW_MESSAGES : MANY_MESSAGES, read);
  return row && { ...row, messages: row.messages.slice(0, max_messages) };
}

/** Reads the inboxes of several agents with one statement. */
export const readInboxes = (ctx: Context, agent_ids: readonly string[]): Promise<InboxRow[]> =>
  readSettled(ctx, MANY_MESSAGES, (values) => several(ctx.db).execute({ agent_ids, ...values }));

/**
 * Reads inboxes. If messages are missing because a transaction is open, it reads again with the horizon of this database alone,
 * because the transaction may belong to another database of the cluster.
 */
async function readSettled(ctx: Context, limit: number, read: (values: Values) => Promise<InboxRow[]>): Promise<InboxRow[]> {
  const values = { max_chars: maxChars(ctx), now: ctx.now().toISOString() };
  const rows = await read({ ...values, horizon: null });
  if (!rows.some(({ unread, messages }) => messages.length < Math.min(unread, limit))) return rows;
  const { horizon } = await readHorizon(ctx);
  return read({ ...values, horizon: String(horizon) });
}

/** Returns whether the agent has something to do. An agent on a paused board has nothing to do. */
export const hasWork = ({ paused, unread, mine, free, review, approvals_decided }: InboxRow): boolean =>
  !paused && unread + mine + free + review + approvals_decided > 0;
