import { sql } from "drizzle-orm";
import { tasks } from "../schema/task.sql.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { ASIDE_ACTIONS } from "./question.ts";

/** The actions of approvals that are not about the result of a task, as SQL. */
export const ASIDES = sql.raw(`(${ASIDE_ACTIONS.map((action) => `'${action}'`).join(", ")})`);

/** A condition on `tasks`: whether an approval of the task is pending. */
export const hasPendingApproval = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link where link.task_id = ${tasks}.id and link.pending)`;

/**
 * A condition on `tasks`: whether the task is approved. Approvals that were granted before the task last left `done` were for
 * earlier work and do not count. Questions and permissions to use a tool do not count either.
 */
export const isApproved = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link join ${approvals} as approval on approval.id = link.approval_id
  where link.task_id = ${tasks}.id and approval.board_id = ${tasks}.board_id and approval.status = 'approved' and approval.action_type not in ${ASIDES}
    and (${tasks}.left_done_at is null or approval.resolved_at > ${tasks}.left_done_at))`;
