import { mentionJobs } from "../alert/mention-jobs.ts";
import type { BoardRow } from "../organization/access.ts";
import { type Agent, agentIdOf, type User } from "../context/actor.ts";
import type { EventType } from "../activity/event-type.ts";
import { type Notification, toNotifications } from "../notification/notification.ts";
import { commentText } from "./comment/comment-message.ts";
import { type TaskHeader, taskText } from "./message.ts";
import { isMentioned, parseMentions } from "../values/mention.ts";
import { type BoardAgent, canWorkOn, findBoardLead } from "../notification/board-agents.ts";
import type { CommentAnchor } from "../schema/activity.sql.ts";
import type { TaskRow } from "./status-rules.ts";

type TaskSummary = Pick<TaskRow, "id" | "title" | "description" | "status" | "assigned_agent_id">;

interface NotificationKind {
  /**
   * The prefix of the events that record whether the delivery succeeded or failed. If it is undefined, no such event is recorded.
   */
  event_prefix?: "task.lead" | "task.assignee" | "task.rework" | "task.lead_unassigned";
  header: TaskHeader;
  requested?: string | null;
}

function toTaskNotifications(
  board: BoardRow,
  task: TaskSummary,
  recipient: BoardAgent,
  { event_prefix, header, requested }: NotificationKind,
): Notification[] {
  const message = taskText(header, board, task, requested);
  if (!event_prefix) return toNotifications(recipient, { message, task_id: task.id });
  const { agent_id, name } = recipient;
  const eventFields = { organization_id: board.organization_id, board_id: board.id, task_id: task.id, agent_id };
  const event = (event_type: EventType, message: string) => ({ event_type, message, ...eventFields });
  return toNotifications(recipient, {
    message,
    task_id: task.id,
    sent: event(`${event_prefix}_notified`, `Notified ${name}: ${header}: ${task.title}.`),
    failed: event(`${event_prefix}_notify_failed`, `Could not notify ${name}: ${header}: ${task.title}.`),
  });
}

/** Returns the notifications of a new task. They go to its assignee and, if a person created the task, to the lead. */
export function creationNotifications(
  board: BoardRow,
  task: TaskSummary,
  agents: readonly BoardAgent[],
  byUser: boolean,
): Notification[] {
  const lead = findBoardLead(board, agents);
  return [
    ...(byUser && lead ? toTaskNotifications(board, task, lead, { event_prefix: "task.lead", header: "NEW TASK ADDED" }) : []),
    ...assignmentNotifications(board, task, agents, null),
  ];
}

/** Notifies a new assignee, unless the assignee itself made the change. */
function assignmentNotifications(
  board: BoardRow,
  task: TaskSummary,
  agents: readonly BoardAgent[],
  acting_agent_id: string | null,
): Notification[] {
  const assignee = agents.find(({ agent_id }) => agent_id === task.assigned_agent_id);
  if (!assignee || assignee.agent_id === acting_agent_id) return [];
  const forReview = task.status === "review" && assignee.agent_id === findBoardLead(board, agents)?.agent_id;
  const header = forReview ? "TASK READY FOR LEAD REVIEW" : "TASK ASSIGNED";
  return toTaskNotifications(board, task, assignee, { event_prefix: "task.assignee", header });
}

interface TaskChange {
  before: TaskRow;
  after: TaskRow;
  agents: readonly BoardAgent[];
  /** The agent that made the change; null for a person or the service. */
  acting_agent_id: string | null;
  /** The lead's latest comment since the task last moved to review. */
  review_comment: string | null;
  /**
   * The comments of the review, without the comments of the agent that submitted the task; null if there are none. Set only if a
   * person sends the task back.
   */
  requested?: string | null | undefined;
}

/**
 * Returns the notifications of a change. They go to a new assignee and, if the task came to the inbox without an assignee, to the
 * lead.
 */
export function changeNotifications(
  board: BoardRow,
  { before, after, agents, acting_agent_id, review_comment, requested }: TaskChange,
): Notification[] {
  const lead = findBoardLead(board, agents);
  const isLead = lead !== undefined && lead.agent_id === acting_agent_id;
  const leadNotifications = lead && !isLead && isReturnedToInbox(before, after) ? inboxNotifications(board, after, lead) : [];
  const assignee = agents.find(({ agent_id }) => agent_id === after.assigned_agent_id);
  const isReturnedByLead = isLead && before.status === "review" && after.status === "inbox";
  if (assignee && (isReturnedByLead || requested !== undefined))
    return toTaskNotifications(board, after, assignee, {
      event_prefix: "task.rework",
      header: "CHANGES REQUESTED",
      requested: requested === undefined ? review_comment : requested,
    });
  if (before.assigned_agent_id === after.assigned_agent_id) return leadNotifications;
  return [...leadNotifications, ...assignmentNotifications(board, after, agents, acting_agent_id)];
}

/** Returns whether the task is now unassigned in the inbox and was not before. */
const isReturnedToInbox = (before: TaskSummary, after: TaskSummary) =>
  after.status === "inbox" &&
  after.assigned_agent_id === null &&
  (before.status !== "inbox" || before.assigned_agent_id !== null);

const inboxNotifications = (board: BoardRow, task: TaskSummary, lead: BoardAgent) =>
  toTaskNotifications(board, task, lead, { event_prefix: "task.lead_unassigned", header: "TASK BACK IN INBOX" });

/** Notifies the lead that a task was blocked because too many leases in a row have expired. */
export function blockedNotifications(board: BoardRow, task: TaskSummary, agents: readonly BoardAgent[]): Notification[] {
  const lead = findBoardLead(board, agents);
  return lead ? toTaskNotifications(board, task, lead, { event_prefix: "task.lead", header: "TASK BLOCKED" }) : [];
}

interface ReturnChange {
  former_assignee_id: string | null;
  agents: readonly BoardAgent[];
  acting_agent_id: string | null;
}

/**
 * Returns the notifications of a task that returned to the inbox because a dependency was reopened. They go to the former assignee
 * and the lead, but not to the agent that reopened the dependency.
 */
export function returnNotifications(
  board: BoardRow,
  task: TaskSummary,
  { former_assignee_id, agents, acting_agent_id }: ReturnChange,
): Notification[] {
  const lead = findBoardLead(board, agents);
  const assignee = agents.find(({ agent_id }) => agent_id === former_assignee_id);
  const notifiesLead = lead !== undefined && lead.agent_id !== acting_agent_id;
  return [
    ...(notifiesLead ? inboxNotifications(board, task, lead) : []),
    ...(assignee && assignee.agent_id !== acting_agent_id && !(notifiesLead && assignee === lead)
      ? toTaskNotifications(board, task, assignee, { header: "TASK BACK IN INBOX" })
      : []),
  ];
}

/**
 * Returns the notifications of a comment. They go to the agents that the comment mentions. If it mentions none, they go to the
 * assignee. The author is never notified.
 */
export function commentNotifications(
  actor: User | Agent,
  board: BoardRow,
  task: Pick<TaskRow, "id" | "title" | "assigned_agent_id">,
  { message: comment, anchor }: { message: string; anchor: CommentAnchor | null },
  agents: readonly BoardAgent[],
): Notification[] {
  const author_id = agentIdOf(actor);
  const others = agents.filter((agent) => agent.agent_id !== author_id && canWorkOn(board, agent));
  const isAssignee = (agent: BoardAgent) => agent.agent_id === task.assigned_agent_id;
  const mentions = parseMentions(comment);
  // A main agent works on many boards. So a mention notifies it only if the task is assigned to it.
  const mentioned = others.filter((agent) => (agent.board_id !== null || isAssignee(agent)) && isMentioned(agent, mentions));
  const recipients = mentioned.length > 0 ? mentioned : others.filter(isAssignee);
  const { id: board_id, organization_id } = board;
  return [
    ...recipients.flatMap((agent) => {
      const fields = { board, task, from: actor, comment, anchor };
      const message = commentText({ ...fields, mentioned: mentioned.length > 0, assigned: isAssignee(agent) });
      return toNotifications(agent, { message, task_id: task.id });
    }),
    ...mentionJobs(actor, { organization_id, board_id, task_id: task.id, subject_id: task.id, text: comment }, agents),
  ];
}
