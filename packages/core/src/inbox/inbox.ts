import { hash } from "node:crypto";
import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Agent } from "../context/actor.ts";
import type { Author } from "../context/author.ts";
import { recordEvent } from "../activity/activity.ts";
import { AgentStatus } from "../agent/agent-status.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { unauthenticated } from "../values/errors.ts";
import { renewLeases } from "../task/lease/lease.ts";
import { TaskStatus } from "../task/task-status.ts";
import { truncatable } from "../lists/large-fields.ts";
import { Id, Instant, MAX_IDS, objectCheck, QueryInteger, lazyObject } from "../values/wire.ts";
import { inbox_acknowledgements, inbox_messages } from "../schema/inbox.sql.ts";
import { messageAuthor, toShownMessage } from "./shown-message.ts";
import { hasWork, type InboxRow, MAX_COUNT, MAX_TASKS, readInbox } from "./read.ts";
import { waitForWork } from "./wait.ts";

const MAX_MESSAGES = 50;
/** API Gateway times out after 29 s, so a request must end well before that. */
const MAX_WAIT_SECONDS = 20;

export const InboxQuery = lazyObject(() => ({
  limit: QueryInteger(1, MAX_MESSAGES).default(10).describe("Number of messages."),
  wait: QueryInteger(0, MAX_WAIT_SECONDS).default(0).describe("Seconds to wait for work while there is none."),
}));
export type InboxQuery = z.infer<typeof InboxQuery>;

const upTo = `at most ${MAX_COUNT}`;

const InboxMessage = lazyObject(() => ({
  id: Id.describe("Id of the message, with which it is acknowledged."),
  kind: z.string().describe("What it is about, such as `task.assigned`, `board.chat` or `agent.nudge`."),
  text: z.string().describe("The message."),
  task_id: Id.nullable().describe("The task that it is about."),
  created_at: Instant.describe("When it was sent."),
  ...truncatable,
})).meta({ id: "InboxMessage", description: "A message to an agent." });

const InboxTask = lazyObject(() => ({
  id: Id.describe("Id of the task."),
  board_id: Id.describe("Board that the task is on."),
  title: z.string().describe("What has to be done, in one line."),
  status: TaskStatus.describe("State of the task."),
  priority: z.string().describe("Priority of the task."),
  due_at: Instant.nullable().describe("When it is due."),
  is_blocked: z.boolean().describe("Whether it waits for other tasks."),
  lease: z
    .object({
      fence: z.int().describe("The number to send as X-Task-Fence with writes."),
      expires_at: Instant.describe("When the lease ends unless it is renewed."),
    })
    .nullable()
    .describe("The lease of its assignee."),
})).meta({ id: "InboxTask", description: "A task that waits for an agent." });

export const Inbox = lazyObject(() => ({
  has_work: z.boolean().describe("Whether anything waits for the agent; always false while the board is paused."),
  agent: z
    .object({
      id: Id.describe("Id of the caller."),
      name: z.string().describe("Name of the caller; a long one is cut."),
      status: AgentStatus.describe("State of the caller."),
      board_id: Id.nullable().describe("Board of the caller; null for a main agent."),
      is_board_lead: z.boolean().describe("Whether the caller leads its board."),
    })
    .describe("The caller."),
  board: z
    .object({ status: z.enum(["active", "paused"]).describe("`paused` after `/pause` in the chat.") })
    .nullable()
    .describe("Board of the caller; null for a main agent."),
  messages: z.array(InboxMessage).describe("Messages that were not acknowledged, oldest first."),
  tasks: z
    .array(InboxTask)
    .describe(`The caller's tasks that can go on, best first; for a lead, those in review. At most ${MAX_TASKS}.`),
  counts: z
    .object({
      messages: z.int().describe(`Messages that were not acknowledged, ${upTo}.`),
      mine: z.int().describe(`Tasks of the caller that can go on within the budgets, ${upTo}.`),
      free: z
        .int()
        .describe(`Tasks in the inbox that nobody has, that wait for no other and for which budgets have room, ${upTo}.`),
      review: z.int().describe(`For a lead: tasks in review, ${upTo}.`),
      approvals_decided: z.int().describe(`For a lead: approvals that were decided since the last acknowledgement, ${upTo}.`),
    })
    .describe("How much waits."),
  next_check_seconds: z.int().describe("When to ask again."),
  ...truncatable,
})).meta({ id: "AgentInbox", description: "Everything that waits for an agent." });
export type Inbox = z.infer<typeof Inbox>;

interface TaggedInbox {
  inbox: Inbox;
  /** A digest of the inbox. Expiry times of leases are left out, because every read renews them. */
  tag: string;
  /** The author of each message by the id of the message. Null for an author that was not recorded. */
  authors: ReadonlyMap<string, Author | null>;
}

/**
 * Reads the caller's inbox, which counts as a heartbeat. If there is no work, waits for some: at most `query.wait` seconds, or
 * until `signal` aborts.
 */
export async function getInbox(ctx: Context<Agent>, query: InboxQuery, signal: AbortSignal): Promise<TaggedInbox> {
  const { agent_id } = ctx.actor;
  if (ctx.actor.newly_seen) await recordHeartbeatEvent(ctx);
  const first = await readInbox(ctx, agent_id, query.limit);
  if (!first) throw unauthenticated();
  if (first.leased) await renewLeases(ctx, ctx.actor);
  if (hasWork(first) || query.wait === 0) return toTagged(first);
  const later = await waitForWork(ctx, { ms: query.wait * 1000, max_messages: query.limit, signal });
  if (later === undefined) throw unauthenticated();
  return toTagged(later ?? first);
}

async function recordHeartbeatEvent(ctx: Context<Agent>): Promise<void> {
  const { organization_id, board_id, agent_id, name } = ctx.actor;
  const message = `Heartbeat received from ${name}.`;
  await recordEvent(ctx, "agent.heartbeat", { organization_id, board_id, agent_id, message });
}

function toTagged(row: InboxRow): TaggedInbox {
  const inbox = toInbox(row);
  const tasks = inbox.tasks.map(({ lease, ...task }) => ({ ...task, fence: lease?.fence ?? null }));
  const authors = new Map(row.messages.map((message) => [message.id, messageAuthor(message)]));
  return { inbox, tag: hash("sha256", JSON.stringify({ ...inbox, tasks }), "base64url"), authors };
}

function toInbox(row: InboxRow): Inbox {
  const { agent_id: id, status, board_id, is_board_lead, paused, unread, mine, free, review, approvals_decided } = row;
  const has_work = hasWork(row);
  return {
    has_work,
    agent: { id, name: shortName(row.name), status, board_id, is_board_lead },
    board: board_id === null ? null : { status: paused ? "paused" : "active" },
    messages: has_work ? row.messages.map(toShownMessage) : [],
    tasks: has_work ? row.tasks.map(toInboxTask) : [],
    counts: { messages: unread, mine, free, review, approvals_decided },
    // Messages that are counted but cannot be read yet will be in the next answer, so the agent should ask again soon.
    next_check_seconds: has_work && unread > 0 && row.messages.length === 0 ? SOON_SECONDS : toSeconds(row.every),
  };
}

const toIso = (time: string) => new Date(time).toISOString();

const toInboxTask = ({ lease, due_at, ...task }: InboxRow["tasks"][number]) => ({
  ...task,
  due_at: due_at && toIso(due_at),
  lease: lease && { fence: lease.fence, expires_at: toIso(lease.expires_at) },
});

/** A long name is cut to this length, so that an answer without work stays small. */
const MAX_NAME_BYTES = 64;

function shortName(name: string): string {
  let end = name.length;
  while (Buffer.byteLength(JSON.stringify(name.slice(0, end).toWellFormed())) > MAX_NAME_BYTES) end -= 1;
  return end === name.length ? name : name.slice(0, end).replace(/[\uD800-\uDBFF]$/, "");
}

const SOON_SECONDS = 5;
const DEFAULT_SECONDS = 600;
const MIN_SECONDS = 30;
const MAX_SECONDS = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Returns the seconds of a heartbeat interval such as `10m`. An interval in any other format is treated as the default. */
function toSeconds(every: string | null): number {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,4})([smhd])$/.exec(every ?? "") ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? 0);
  return seconds === 0 ? DEFAULT_SECONDS : Math.min(Math.max(seconds, MIN_SECONDS), MAX_SECONDS);
}

const AcknowledgeFields = lazyObject(() => ({
  through: Id.optional().describe("The last message that was read; it and all before it are acknowledged."),
  ids: z
    .array(Id)
    .max(MAX_IDS)
    .optional()
    .describe("The messages that were read; an empty list acknowledges decided approvals only."),
}));

export const Acknowledge = AcknowledgeFields.check(
  objectCheck<z.infer<typeof AcknowledgeFields>>(({ through, ids }, fail) => {
    if (through === undefined && ids === undefined) fail("through", "through or ids is required");
  }),
).meta({
  id: "InboxAcknowledge",
  "x-llm-intent": "agent_inbox_acknowledge",
  "x-when-to-use": ["The messages of the inbox were acted on"],
});
export type Acknowledge = z.infer<typeof Acknowledge>;

export const Acknowledged = lazyObject(() => ({
  ok: z.literal(true).describe("The messages are not shown again."),
  acknowledged: z.int().describe("How many messages were not acknowledged before."),
})).meta({ id: "InboxAcknowledged", description: "What was acknowledged." });
export type Acknowledged = z.infer<typeof Acknowledged>;

/** Marks messages of the caller as read. Ids of other or already read messages are ignored, so requests may be repeated. */
export async function acknowledge(ctx: Context<Agent>, { through, ids = [] }: Acknowledge): Promise<Acknowledged> {
  const { agent_id, organization_id } = ctx.actor;
  const isOwn = and(eq(inbox_messages.agent_id, agent_id), eq(inbox_messages.organization_id, organization_id));
  const read = through === undefined ? inArray(inbox_messages.id, ids) : isUpTo(through, agent_id);
  const update = ctx.db
    .update(inbox_messages)
    .set({ acknowledged_at: ctx.now() })
    .where(and(isOwn, isNull(inbox_messages.acknowledged_at), read))
    .returning({ id: inbox_messages.id });
  const mark = ctx.db
    .insert(inbox_acknowledgements)
    .values({ agent_id, acknowledged_at: sql`statement_timestamp()` })
    .onConflictDoUpdate({ target: inbox_acknowledgements.agent_id, set: { acknowledged_at: sql`statement_timestamp()` } });
  const result = await ctx.db.execute(sql`
    with acknowledged as ${update}, mark as ${mark} select count(*)::int as acknowledged from acknowledged`);
  return { ok: true, acknowledged: rowsOf<{ acknowledged: number }>(result)[0]!.acknowledged };
}

/**
 * Returns a condition on messages: whether a message comes before the given message in the order of the agent's inbox, or is this
 * message.
 */
const isUpTo = (message_id: string, agent_id: string): SQL => sql`(${inbox_messages.tx}, ${inbox_messages.seq}) <= (
  select last.tx, last.seq from ${inbox_messages} as last where last.id = ${message_id} and last.agent_id = ${agent_id})`;
