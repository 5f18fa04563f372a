import { boardFor } from "@board/core/organization/access";
import { user, userOrAgent } from "@board/core/context/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { DecideApproval, decideApproval } from "@board/core/approval/decide";
import { ApprovalQuery, getApproval, listApprovals } from "@board/core/approval/list";
import { CreateApproval } from "@board/core/approval/input";
import { pageOf } from "@board/core/lists/page";
import { approvalResource } from "./conditional-resources.ts";
import { endpoint } from "../endpoint.ts";

/** Approvals: actions of agents that a person must agree to. */
export const approvals = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/approvals",
    {
      as: userOrAgent,
      summary: "List approvals",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: ApprovalQuery,
      returns: pageOf(Approval),
    },
    (ctx, { params, query }) => listApprovals(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    "/api/v1/boards/{board_id}/approvals",
    {
      as: userOrAgent,
      summary: "Request an approval",
      errors: [409],
      description:
        "The approval starts as pending; a status in the body is ignored. A reason is required: `description`, `lead_reasoning`, or `reason` in the payload or its `decision`. A task has at most one pending approval.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateApproval,
      returns: Approval,
    },
    (ctx, { params, body }) => createApproval(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/approvals/{approval_id}",
    { as: userOrAgent, summary: "Get an approval", returns: Approval },
    (ctx, { params }) => getApproval(ctx, params.board_id, params.approval_id, "read"),
  ),
  endpoint(
    "PATCH",
    "/api/v1/boards/{board_id}/approvals/{approval_id}",
    {
      as: user,
      summary: "Decide an approval",
      conditional: approvalResource,
      errors: [409],
      description:
        "Approves, rejects, or revokes the decision. Notifies the lead of the board and the agent that requested the approval.",
      authorize: (ctx, params) => getApproval(ctx, params.board_id, params.approval_id, "write"),
      body: DecideApproval,
      returns: Approval,
    },
    (ctx, { params, body }) => decideApproval(ctx, params.board_id, params.approval_id, body),
  ),
];
