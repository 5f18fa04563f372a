import { boardFor } from "@board/core/organization/access";
import { userOrAgent } from "@board/core/context/actor";
import { ApprovalEvent, ApprovalStreamQuery, followApprovals } from "@board/core/approval/stream";
import { endpoint } from "../endpoint.ts";

export const approvalStream = [
  endpoint(
    "GET",
    "/api/v1/boards/{board_id}/approvals/stream",
    {
      as: userOrAgent,
      summary: "Follow approvals",
      description:
        "Server-sent events `approval`, one per request and decision, with the current counts of approvals. Resumes after the event in Last-Event-ID.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: ApprovalStreamQuery,
      returns: ApprovalEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { params, query, http }) => http.stream(query.since, (ctx) => followApprovals(ctx, params.board_id)),
  ),
];
