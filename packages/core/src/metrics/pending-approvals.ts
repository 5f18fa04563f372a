import { and, desc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { approvals } from "../schema/approval.sql.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { inlineLimit } from "../db/stable-plan.ts";
import { tasks } from "../schema/task.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { anyOf } from "./scope.ts";

const MAX_ITEMS = 10;

export const PendingApprovals = lazyObject(() => ({
  total: z.int().describe("Number of approvals that wait for a decision."),
  items: z
    .array(
      z.object({
        approval_id: Id.describe("Id of the approval."),
        board_id: Id.describe("Board of the approval."),
        board_name: z.string().describe("Name of the board."),
        action_type: z.string().describe("Kind of action to approve."),
        confidence: z.number().describe("Confidence of the agent, 0 to 100; 0 when it gave none."),
        created_at: Instant.describe("When the approval was requested."),
        task_title: z.string().nullable().describe("Title of the first linked task."),
      }),
    )
    .describe(`The newest ${MAX_ITEMS} of these approvals, newest first.`),
})).meta({ id: "MetricPendingApprovals", description: "Approvals that wait for a decision." });
export type PendingApprovals = z.infer<typeof PendingApprovals>;

/** Finds the newest approvals in an index and reads only their rows, even if thousands are pending. */
export async function readPendingApprovals(ctx: Context, board_ids: readonly string[]): Promise<PendingApprovals> {
  const rows = await selectPending(ctx.db).execute({ board_ids });
  const items = rows.map(({ total: _total, ...row }) => ({
    ...row,
    confidence: row.confidence ?? 0,
    created_at: row.created_at.toISOString(),
  }));
  return { total: rows[0]?.total ?? 0, items };
}

const newestFirst = [desc(approvals.created_at), desc(approvals.id)];

const selectPending = preparedQuery((db) => {
  const newest = db
    .select({ id: approvals.id, total: sql<number>`count(*) over ()`.mapWith(Number).as("total") })
    .from(approvals)
    .where(and(eq(approvals.board_id, anyOf(sql.placeholder("board_ids"))), eq(approvals.status, "pending")))
    .orderBy(...newestFirst)
    .limit(inlineLimit(MAX_ITEMS))
    .as("newest");
  return db
    .select({
      approval_id: approvals.id,
      board_id: approvals.board_id,
      board_name: boards.name,
      action_type: approvals.action_type,
      confidence: approvals.confidence,
      created_at: approvals.created_at,
      task_title: tasks.title,
      total: newest.total,
    })
    .from(newest)
    .innerJoin(approvals, eq(approvals.id, newest.id))
    .innerJoin(boards, eq(boards.id, approvals.board_id))
    .leftJoin(tasks, eq(tasks.id, approvals.task_id))
    .orderBy(...newestFirst);
});
