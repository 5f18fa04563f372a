import { agent, user } from "@board/core/context/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { decideApproval } from "@board/core/approval/decide";
import { CreateApproval } from "@board/core/approval/input";
import { Id } from "@board/core/values/wire";
import * as z from "zod";
import { approvalText } from "../approval-view.ts";
import { boardIdOf, parseInput, tool } from "../tool.ts";

const board_id = Id.optional();
const { id, status, action_type, task_ids } = Approval.shape;
const output = z.object({ approval: z.object({ id, board_id: Id, status, action_type, task_ids }) });

function toResult(approval: Approval) {
  const { id, board_id, status, action_type, task_ids } = approval;
  const text = [...approvalText(approval), ...(status === "pending" ? [WAIT] : [])].join("\n");
  return { data: { approval: { id, board_id, status, action_type, task_ids } }, text };
}

const WAIT = "Do not act on it before the decision, which comes to check_inbox.";

const { action_type: action, description, task_ids: tasks, confidence } = CreateApproval.shape;

export const requestApproval = tool({
  title: "Request an approval",
  name: "request_approval",
  description:
    "Asks a person before an action that is irreversible, costs money or leaves the team, or when the board requires it. The decision comes to the inbox.",
  as: agent,
  for_runs: true,
  input: z.object({ board_id, action_type: action, description, task_ids: tasks, confidence }),
  about: { confidence: "0 to 100", description: "Reason" },
  output,
  async run(ctx, { board_id, ...input }) {
    return toResult(await createApproval(ctx, boardIdOf(ctx, { board_id }), parseInput(CreateApproval, input)));
  },
});

export const decideApprovalTool = tool({
  title: "Decide an approval",
  name: "decide_approval",
  description: "Decides what an agent has asked for; get_task shows the request.",
  as: user,
  // The decision allows an action that cannot be undone, so a client asks the person before its model decides.
  destructive: true,
  idempotent: true,
  input: z.object({ approval_id: Id, board_id, status: z.enum(["approved", "rejected"]), option_id: z.string().optional() }),
  output,
  async run(ctx, { approval_id, status, option_id, ...call }) {
    return toResult(await decideApproval(ctx, boardIdOf(ctx, call), approval_id, { status, option_id }));
  },
});
