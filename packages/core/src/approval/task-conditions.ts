import { sql } from "drizzle-orm";
import { tasks } from "../schema/task.sql.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";

/** Whether an approval of a task is pending, as a condition on `tasks`. */
export const hasPendingApproval = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link where link.task_id = ${tasks}.id and link.pending)`;

/** Whether a task is approved: approvals from before it last left `done` were for that earlier work and do not count. */
export const isApproved = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link join ${approvals} as approval on approval.id = link.approval_id
  where link.task_id = ${tasks}.id and approval.board_id = ${tasks}.board_id and approval.status = 'approved'
    and (${tasks}.left_done_at is null or approval.resolved_at > ${tasks}.left_done_at))`;
