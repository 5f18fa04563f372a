import { DomainError } from "../../values/errors.ts";
import { alreadyClaimedError, leaseLostError } from "../errors.ts";
import type { LeaseAction } from "./lease-state.ts";
import { decideTransition, type TransitionInput, type TransitionResult } from "../transition-checks.ts";

/** Decides whether a lease may begin or be returned, by the rules for moves and for leases (docs/reference/tasks.md#leases). */
export const decideLease = (input: TransitionInput, { type }: LeaseAction): TransitionResult =>
  type === "begin" ? decideBegin(input) : decideReturn(input);

function decideBegin(input: TransitionInput): TransitionResult {
  const { task, acting_agent_id } = input;
  if (task.assigned_agent_id !== null && task.assigned_agent_id !== acting_agent_id) throw alreadyClaimedError();
  if (task.status !== "inbox" && task.status !== "in_progress")
    throw new DomainError("conflict", "Move the task to in_progress before you take its lease.");
  const result = decideTransition(input);
  // A worker that moves a free task becomes its assignee. A lead does not become the assignee, so it cannot lease the task.
  if (result.assigned_agent_id === null) throw new DomainError("forbidden", "Board leads cannot assign tasks to themselves.");
  return result;
}

/**
 * Decides the move of a returned task. A task that was unassigned before the lease becomes unassigned again. Otherwise the
 * assignee stays the same.
 */
function decideReturn(input: TransitionInput): TransitionResult {
  const { task, acting_agent_id } = input;
  if (task.lease_expires_at === null || task.assigned_agent_id !== acting_agent_id) throw leaseLostError();
  return { ...decideTransition(input), assigned_agent_id: task.lease_was_free ? null : acting_agent_id };
}
