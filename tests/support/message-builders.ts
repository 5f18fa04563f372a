import type { Agent } from "@board/core/context/actor";
import { approvalResolvedText } from "@board/core/approval/message";
import { boardUpdatedText, groupUpdatedText } from "@board/core/board/message";
import { askUserText, leadMessageText } from "@board/openclaw/coordination/message";
import { boardChatText, groupChatText } from "@board/core/memory/message";
import { onboardingPrompt } from "@board/openclaw/onboarding/prompt";
import { skillActionText } from "@board/openclaw/skill/message";
import { commentText } from "@board/core/task/comment/comment-message";
import { taskText } from "@board/core/task/message";
import { notificationText } from "@board/core/webhook/message";

const SERVICE = "https://boards.example";
const ID = "7a1e0b62-6c1b-4a55-9d0c-0f3f6f1c2d11";

/** Builds each kind of message to agents, with the given text in every part that other people can write. */
export const BUILDERS: Record<string, (text: string) => string> = {
  "a text alone": (text) => text,
  "a task": (text) =>
    taskText("CHANGES REQUESTED", { name: text }, { id: ID, title: text, description: text, status: "inbox" }, text),
  "a comment": (text) =>
    commentText({
      anchor: { artifact_id: ID, path: text, line: 3, side: "new" },
      board: { name: text },
      task: { id: ID, title: text },
      from: called(text),
      comment: text,
      mentioned: true,
      assigned: false,
    }),
  "a board's chat": (text) =>
    boardChatText({ header: "BOARD CHAT", from: called(text), content: text }, { id: ID, name: text }, SERVICE),
  "a group's chat": (text) =>
    groupChatText({ header: "GROUP CHAT", from: called(text), content: text }, { name: text }, ID, SERVICE),
  "a change of a board": (text) =>
    boardUpdatedText(
      { name: text, id: ID, objective: text, success_metrics: { [text]: text } } as never,
      { objective: text, success_metrics: null } as never,
      { objective: text, success_metrics: {} },
    ),
  "a change of a group": (text) =>
    groupUpdatedText({
      kind: "Joined",
      board: { name: text, id: ID } as never,
      group: { name: text, id: ID } as never,
      recipient: { board_id: ID, board_name: text },
    }),
  "an approval": (text) =>
    approvalResolvedText({ name: text }, {
      id: ID,
      action_type: text,
      status: "approved",
      confidence: 80,
      task_ids: [ID],
    } as never),
  "a lead message": (text) => leadMessageText("handoff", coordination(text), { id: ID, name: text }, SERVICE),
  "a question to the user": (text) =>
    askUserText({ ...coordination(text), preferred_channel: text }, { id: ID, name: text }, SERVICE),
  "a webhook's event": (text) =>
    notificationText({ board_id: ID, webhook_id: ID, payload_id: ID, instruction: text, summary: text, text, board_name: text }),
  "a skill": (text) => skillActionText("install", { name: text, source_url: text }, { workspace_root: "/srv/agents" }),
  "an onboarding": (text) => onboardingPrompt({ id: ID, name: text, description: text } as never, SERVICE),
};
const called = (name: string) => ({ type: "agent", agent_id: ID, name }) as Agent;
const coordination = (text: string) => ({
  from: called(text),
  correlation_id: text,
  content: text,
  reply_tags: [text],
  reply_source: text,
});
