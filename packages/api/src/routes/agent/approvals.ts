import { boardFor } from "@board/core/access";
import { agent } from "@board/core/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { ApprovalQuery, listApprovals } from "@board/core/approval/list";
import { CreateApproval } from "@board/core/approval/request";
import { pageOf } from "@board/core/page";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** Approvals as agents ask for them. They are decided by people. */
export const agentApprovals = [
  endpoint(
    "GET",
    "/api/v1/agent/boards/{board_id}/approvals",
    {
      as: agent,
      summary: "List approvals",
      description: "The approvals of a board with their decisions, newest first.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: ApprovalQuery,
      returns: pageOf(Approval),
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_approval_discovery",
        when_to_use: ["Finding out whether something is approved, rejected or still waits for a person"],
        when_not_to_use: ["Waiting for a decision: an APPROVAL RESOLVED message tells of it"],
        routing_policy: ["Look for a pending approval of the task before asking for one"],
      }),
    },
    (ctx, { params, query }) => listApprovals(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/approvals",
    {
      as: agent,
      summary: "Ask for an approval",
      errors: [409],
      description:
        "Asks a person to decide. `description` says why, `task_id` or `task_ids` what it is about; a task has at most one pending approval.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateApproval,
      returns: Approval,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_approval_request",
        when_to_use: [
          "Before an action that cannot be undone, costs money or reaches people outside",
          "A task may be done only with an approval",
        ],
        when_not_to_use: ["The task has a pending approval already", "The board's rules leave the decision to you"],
        side_effects: ["A pending approval that people see; while it is pending its tasks may be held where they are"],
        negative_guidance: ["Never do what was asked for before it is approved", "Never ask again for what was rejected"],
        routing_policy: ["Say honestly how sure you are; name every task that the decision touches"],
      }),
    },
    (ctx, { params, body }) => createApproval(ctx, params.board_id, body),
  ),
];
