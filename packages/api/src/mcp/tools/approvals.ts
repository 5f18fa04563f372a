import { agent, user } from "@board/core/context/actor";
import { Approval } from "@board/core/approval/approval";
import { createApproval } from "@board/core/approval/create";
import { decideApproval } from "@board/core/approval/decide";
import { getApproval } from "@board/core/approval/list";
import { isQuestion, questionOf } from "@board/core/approval/question";
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

const WAIT = "Do not act on it before the decision, which check_inbox will show.";

const { action_type: action } = CreateApproval.shape;

export const requestApproval = tool({
  title: "Ask for approval",
  name: "request_approval",
  description:
    "Asks a person before an irreversible, costly or external act, or as the board requires. Use action `question` to get an answer.",
  as: agent,
  for_runs: true,
  // Simple types keep the list of tools short. The values are checked by the schema of the operation.
  input: z.object({
    board_id,
    action_type: action,
    description: z.string(),
    task_ids: z.array(z.string()).optional(),
    confidence: z.number().optional(),
    options: z.array(z.string()).optional(),
    allow_text: z.boolean().optional(),
  }),
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
  // The decision may allow an action that cannot be undone, so a client must ask the person before its model decides.
  destructive: true,
  idempotent: true,
  input: z.object({ approval_id: Id, board_id, status: z.enum(["approved", "rejected"]), option_id: z.string().optional() }),
  output,
  async run(ctx, { approval_id, status, option_id, ...call }) {
    const board_id = boardIdOf(ctx, call);
    if (option_id === undefined) return toResult(await decideApproval(ctx, board_id, approval_id, { status }));
    const asked = await getApproval(ctx, board_id, approval_id, "write");
    if (!isQuestion(asked)) return toResult(await decideApproval(ctx, board_id, approval_id, { status, option_id }));
    // The answer to a question is one of its options, or a text.
    const isListed = questionOf(asked).options.includes(option_id);
    const answer = isListed ? { option: option_id, text: null } : { option: null, text: option_id };
    return toResult(await decideApproval(ctx, board_id, approval_id, { status, answer }));
  },
});
