import type { Actor } from "@board/core/context/actor";
import { outOfRunScope, requireInRunScope } from "@board/core/context/run-scope";
import type { Endpoint } from "../endpoint.ts";

/**
 * The operations that a run token may call (docs/runner.md#the-token-of-a-run): its task, the memory of its board, approvals and
 * usage. Everything else is refused, including operations that are added later. Ids in a body are checked where they are used.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  "GET /api/v1/agent/healthz",
  "GET /api/v1/boards/{board_id}/tasks/{task_id}",
  "PATCH /api/v1/boards/{board_id}/tasks/{task_id}",
  "GET /api/v1/boards/{board_id}/tasks/{task_id}/comments",
  "POST /api/v1/boards/{board_id}/tasks/{task_id}/comments",
  "GET /api/v1/agent/boards/{board_id}/tasks/{task_id}",
  "PATCH /api/v1/agent/boards/{board_id}/tasks/{task_id}",
  "GET /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments",
  "POST /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments",
  "GET /api/v1/boards/{board_id}/tasks/{task_id}/artifacts",
  "POST /api/v1/boards/{board_id}/tasks/{task_id}/artifacts",
  "GET /api/v1/boards/{board_id}/artifacts/{artifact_id}",
  "GET /api/v1/boards/{board_id}/artifacts/{artifact_id}/content",
  "PUT /api/v1/boards/{board_id}/artifacts/{artifact_id}/content",
  "POST /api/v1/boards/{board_id}/artifacts/{artifact_id}/complete",
  "POST /api/v1/boards/{board_id}/approvals",
  "POST /api/v1/agent/boards/{board_id}/approvals",
  "POST /api/v1/boards/{board_id}/memory",
  "POST /api/v1/agent/boards/{board_id}/memory",
  "POST /api/v1/agent/usage",
  "POST /mcp",
]);

/** Throws `forbidden` if a caller with a run token calls something that does not belong to the run's task. */
export function requireAllowedToRun({ method, paths }: Endpoint, actor: Actor, params: Record<string, string>): void {
  if (actor.type !== "agent" || !actor.run) return;
  if (!ALLOWED.has(`${method} ${paths[0]}`)) throw outOfRunScope();
  requireInRunScope(actor, { board_id: params["board_id"], task_id: params["task_id"] });
}
