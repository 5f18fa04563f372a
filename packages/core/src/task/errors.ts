import { DomainError } from "../values/errors.ts";

export const missingTagsError = (missing_tag_ids: string[]) =>
  new DomainError("not_found", "One or more tags do not exist in this organization.", { fields: { missing_tag_ids } });

export const blockedError = (blocked_by_task_ids: string[]) =>
  new DomainError("conflict", "Task is blocked by unfinished dependencies.", {
    fields: { code: "task_blocked_cannot_transition", blocked_by_task_ids },
  });

/** Returns the error for an agent that has lost its lease. `reason` is set if the run was stopped. */
export const leaseLostError = (reason?: "stopped") =>
  new DomainError("conflict", "The lease of this task was lost; take the task again before you write to it.", {
    fields: { code: "task_lease_lost", ...(reason ? { reason } : {}) },
  });

export const notInReview = () => new DomainError("conflict", "The task is not in review.");

export const alreadyClaimedError = () =>
  new DomainError("conflict", "Task was claimed by another agent.", { fields: { code: "task_already_claimed" } });
