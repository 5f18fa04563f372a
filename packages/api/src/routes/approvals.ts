import { boardFor } from "@board/core/access";
import { user, userOrAgent } from "@board/core/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { DecideApproval, decideApproval } from "@board/core/approval/decide";
import { ApprovalQuery, getApproval, listApprovals } from "@board/core/approval/list";
import { CreateApproval } from "@board/core/approval/request";
import { ApprovalEvent, ApprovalStreamQuery, followApprovals } from "@board/core/approval/stream";
import { pageOf } from "@board/core/page";
import { endpoint } from "../endpoint.ts";

/** What agents may do only when a person agrees. */
export const approvals = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/approvals",
    {
      as: userOrAgent,
      summary: "List approvals",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
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
      summary: "Ask for an approval",
      errors: [409],
      description:
        "It starts as pending, whatever status is sent. A reason is required: `description`, `lead_reasoning`, or `reason` in the payload or its `decision`. A task has at most one pending approval.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateApproval,
      returns: Approval,
    },
    (ctx, { params, body }) => createApproval(ctx, params.board_id, body),
  ),
  endpoint(
    "PATCH",
    "/api/v1/boards/{board_id}/approvals/{approval_id}",
    {
      as: user,
      summary: "Decide an approval",
      errors: [409],
      description: "Approves, rejects, or takes the decision back. The board's lead and the agent that asked are told of it.",
      reaches: (ctx, params) => getApproval(ctx, params.board_id, params.approval_id),
      body: DecideApproval,
      returns: Approval,
    },
    (ctx, { params, body }) => decideApproval(ctx, params.board_id, params.approval_id, body),
  ),
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/approvals/stream",
    {
      as: userOrAgent,
      summary: "Follow approvals",
      description:
        "Server-sent events `approval`, one per request and decision, with the counts that go with it. Resumes after the event named by Last-Event-ID.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: ApprovalStreamQuery,
      returns: ApprovalEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followApprovals(ctx, params.board_id)),
  ),
];
