import { DomainError } from "../values/errors.ts";
import type { Actor, RunScope } from "./actor.ts";

/** Throws if the caller has a run token and one of the named ids does not belong to the run. */
export function requireInRunScope(actor: Actor, named: { [Key in keyof RunScope]?: string | null | undefined }): void {
  if (actor.type !== "agent" || !actor.run) return;
  for (const key of ["run_id", "board_id", "task_id"] as const) {
    const id = named[key];
    if (id !== undefined && id !== null && id.toLowerCase() !== actor.run[key]) throw outOfRunScope();
  }
}

export const outOfRunScope = (): DomainError =>
  new DomainError("forbidden", "The token of a run may only work on the task of its run.", { code: "outside_of_run" });
