import { boardFor } from "@board/core/organization/access";
import { agent } from "@board/core/context/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { ApprovalQuery, listApprovals } from "@board/core/approval/list";
import { CreateApproval } from "@board/core/approval/input";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../../endpoint.ts";

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
      agent: "agent_board_approval_discovery",
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
      agent: "agent_board_approval_request",
    },
    (ctx, { params, body }) => createApproval(ctx, params.board_id, body),
  ),
];
