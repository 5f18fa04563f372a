import { Approval } from "@board/core/approval/approval";
import { answerTextOf, isQuestion, questionOf } from "@board/core/approval/question";
import { RUN_PERMISSION } from "@board/core/approval/run-permission";
import { authorText } from "@board/core/context/author";
import * as z from "zod";
import { fenced, labelled } from "./fenced.ts";
import { type Beginning, beginningOf, inline, MAX_ROWS } from "./limits.ts";

const { id, status, action_type, description, agent_id, resolved_by_user_id } = Approval.shape;

export const ApprovalRow = z.object({ id, status, agent_id, resolved_by_user_id, action_type, description });

export function toApprovalRow(approval: Approval): z.infer<typeof ApprovalRow> {
  const { id, status, agent_id, resolved_by_user_id, action_type, description } = approval;
  const shown = description && inline(reasonOf(approval, description));
  return { id, status, agent_id, resolved_by_user_id, action_type, description: shown };
}

const reasonOf = ({ board_id }: Approval, description: string): Beginning =>
  beginningOf(description, `GET /api/v1/boards/${board_id}/approvals`);

/** Describes what the agent wants to do in a permission request, and the options with their ids. */
function permissionText({ action_type, payload }: Approval): string[] {
  if (action_type !== RUN_PERMISSION || payload === null) return [];
  const { tool, excerpt, options } = payload;
  const listed = Array.isArray(options) ? options.slice(0, MAX_ROWS) : [];
  return [
    ...(typeof excerpt === "string" ? ["", `Tool ${String(tool)}:`, excerpt] : []),
    ...listed.map((option) => `Option ${JSON.stringify(option)}`),
  ];
}

/** Describes the answers that a question offers, and the answer that was given. */
function questionText(approval: Approval): string[] {
  if (!isQuestion(approval)) return [];
  const { options, allow_text } = questionOf(approval);
  const answer = answerTextOf(approval);
  return [
    ...options.map((option) => `Option ${JSON.stringify(option)}`),
    ...(allow_text ? ["A free-text answer is also allowed."] : []),
    ...(answer === null ? [] : ["", "Answer:", answer]),
  ];
}

/** Describes an approval in words. The names of the requester and the decider come from the database. */
export function approvalText(approval: Approval): string[] {
  const { id, status, agent_id, resolved_by_user_id, resolved_at, action_type, description } = approval;
  const asker = agent_id === null ? "a person or a removed agent" : authorText({ type: "agent", id: agent_id });
  const decider = resolved_by_user_id === null ? "a removed person" : authorText({ type: "user", id: resolved_by_user_id });
  const decision = resolved_at === null ? "" : `, decided by ${decider} at ${resolved_at}`;
  const reason = description === null ? { shown: "", rest: null } : reasonOf(approval, description);
  const shown = [
    labelled({ Action: action_type }),
    ...(reason.shown === "" ? [] : ["", reason.shown]),
    ...permissionText(approval),
    ...questionText(approval),
  ].join("\n");
  return fenced(`Approval ${id} [${status}], requested by ${asker}${decision}`, { ...reason, shown });
}
