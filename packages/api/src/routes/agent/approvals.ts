import { boardFor } from "@board/core/organization/access";
import { agent } from "@board/core/context/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { ApprovalQuery, listApprovals } from "@board/core/approval/list";
import { CreateApproval } from "@board/core/approval/input";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** Approvals that agents request and people decide. */
export const agentApprovals = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/approvals",
    {
      as: agent,
      summary: "List approvals",
      description: "Returns the approvals of a board with their decisions, newest first.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: ApprovalQuery,
      returns: pageOf(Approval),
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_approval_discovery",
        when_to_use: ["Finding out whether a request is approved, rejected or still pending"],
        when_not_to_use: ["Waiting for a decision: an APPROVAL RESOLVED message announces it"],
        routing_policy: ["Look for a pending approval of the task before requesting one"],
      }),
    },
    (ctx, { params, query }) => listApprovals(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/approvals",
    {
      as: agent,
      summary: "Request an approval",
      errors: [409],
      description:
        "Asks a person to decide. `description` gives the reason, `task_id` or `task_ids` the tasks concerned. A task has at most one pending approval.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateApproval,
      returns: Approval,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_approval_request",
        when_to_use: [
          "Before an action that cannot be undone, costs money or contacts external people",
          "The board requires an approval before a task may be done",
        ],
        when_not_to_use: ["The task has a pending approval already", "The rules of the board leave the decision to you"],
        side_effects: ["A pending approval is shown to people; while it is pending, its tasks may not be movable"],
        negative_guidance: ["Never act before the approval", "Never request again what was rejected"],
        routing_policy: ["State your confidence honestly; name every task that the decision affects"],
      }),
    },
    (ctx, { params, body }) => createApproval(ctx, params.board_id, body),
  ),
];
