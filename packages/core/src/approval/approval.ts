import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { newestFirst, toOrderBy } from "../lists/keyset.ts";
import { aggregatedList, largeObject, readShortened, toShortened, truncatable } from "../lists/large-fields.ts";
import { notFound } from "../values/errors.ts";
import { tasks } from "../schema/task.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { ApprovalStatus } from "./approval-status.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { toNonBlankText } from "./input.ts";

export const Approval = lazyObject(() => ({
  id: Id.describe("Id of the approval."),
  board_id: Id.describe("Board that the approval belongs to."),
  agent_id: Id.nullable().describe("Agent that requests the approval."),
  action_type: z.string().describe("Action to approve."),
  description: z.string().nullable().describe("Reason for the request."),
  payload: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe("Further data for the decision. Without a `title`, it gets the title of the first linked task."),
  confidence: z.number().describe("Confidence of the agent, 0 to 100; 0 when the request has none."),
  rubric_scores: z.record(z.string(), z.int()).nullable().describe("Scores by criterion."),
  status: ApprovalStatus.describe("The decision."),
  task_id: Id.nullable().describe("First of the linked tasks."),
  task_ids: z.array(Id).describe("The linked tasks."),
  task_titles: z.array(z.string()).describe("Titles of the linked tasks, in the same order."),
  created_at: Instant.describe("When the approval was requested."),
  updated_at: Instant.describe("When the approval last changed."),
  resolved_at: Instant.nullable().describe("When the approval was decided."),
  resolved_by_user_id: Id.nullable().describe("Person who decided."),
  ...truncatable,
})).meta({ id: "Approval", description: "A request for a person's consent to an action of an agent." });
export type Approval = z.infer<typeof Approval>;

interface LinkedTask {
  id: string;
  title: string;
}

const linked = aggregatedList<LinkedTask>(
  sql`json_agg(json_build_object('id', task.id, 'title', task.title) order by link.position, link.id)`,
  sql`from ${approval_task_links} as link join ${tasks} as task on task.id = link.task_id
    where link.approval_id = ${approvals}.id`,
);

/** The columns that `toApproval` needs. */
export const approvalColumns = { ...getTableColumns(approvals), linked: linked.column };

/** The fields of an approval that a list shortens when the answer would be too large. Of the payload, it keeps only the reason. */
export const LARGE_APPROVAL_FIELDS = {
  payload: {
    ...largeObject,
    shorten: (payload: SQL, chars: SQL) => sql`case when json_typeof(${payload} -> 'reason') = 'string'
      then json_build_object('reason', left(${payload} ->> 'reason', ${chars})) else '{}' end`,
    shown_as: ["payload", "description"],
  },
  rubric_scores: largeObject,
  linked: { ...linked, shown_as: ["task_ids", "task_titles"] },
};

/** Returns an approval of the board. Throws `not_found`. With `lock`, the row stays locked until the transaction ends. */
export async function readApproval(ctx: Context, board_id: string, approval_id: string, lock = false): Promise<Approval> {
  const query = ctx.db
    .select(approvalColumns)
    .from(approvals)
    .where(and(eq(approvals.id, approval_id), eq(approvals.board_id, board_id)));
  const [row] = await (lock ? query.for("no key update", { of: approvals }) : query);
  if (!row) throw notFound();
  return toApproval(row);
}

export const approvalOrder = newestFirst(approvals);

/** Returns the newest approvals that match, with their linked tasks, in one statement. */
export async function readApprovals(ctx: Context, condition: SQL, limit: number): Promise<Approval[]> {
  const rows = await readShortened(ctx, { fields: approvalColumns, large: LARGE_APPROVAL_FIELDS, max_rows: limit }, (columns) =>
    ctx.db
      .select(columns)
      .from(approvals)
      .where(condition)
      .orderBy(...toOrderBy(approvalOrder))
      .limit(limit),
  );
  return rows.map((row) => toShortened(row, toApproval));
}

/** Adds the title of the first linked task to a payload without a title, because clients show the title in the payload. */
function withTitle(payload: Approval["payload"], [task]: readonly LinkedTask[]): Approval["payload"] {
  return task && toNonBlankText(payload?.["title"]) === null ? { ...payload, title: task.title } : payload;
}

export function toApproval(row: typeof approvals.$inferSelect & { linked: LinkedTask[] }): Approval {
  const payload = withTitle(row.payload, row.linked);
  const reason = payload?.["reason"];
  const task_ids = row.linked.map(({ id }) => id);
  return {
    id: row.id,
    board_id: row.board_id,
    agent_id: row.agent_id,
    action_type: row.action_type,
    description: typeof reason === "string" ? reason : null,
    payload,
    confidence: row.confidence ?? 0,
    rubric_scores: row.rubric_scores,
    status: row.status,
    task_id: task_ids[0] ?? null,
    task_ids,
    task_titles: row.linked.map(({ title }) => title),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    resolved_at: row.resolved_at?.toISOString() ?? null,
    resolved_by_user_id: row.resolved_by_user_id,
  };
}
