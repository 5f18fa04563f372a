import type { BoardRow } from "../access.ts";
import type { EventType } from "../activity/activity.ts";
import { type NewNotice, toNotices } from "../notice/notice.ts";
import { type TaskHeader, taskText } from "./message.ts";
import { type Colleague, leadOf } from "./people.ts";
import type { TaskRow } from "./status.ts";

type Told = Pick<TaskRow, "id" | "title" | "description" | "status" | "assigned_agent_id">;

interface Kind {
  /** Begins the event types that tell whether it arrived. */
  events?: "task.lead" | "task.assignee" | "task.rework" | "task.lead_unassigned";
  header: TaskHeader;
  requested?: string | null;
}

function tell(board: BoardRow, task: Told, to: Colleague, { events, header, requested }: Kind): NewNotice[] {
  const message = taskText(header, board, task, requested);
  if (!events) return toNotices(to, { message });
  const about = { organization_id: board.organization_id, board_id: board.id, task_id: task.id, agent_id: to.agent_id };
  const event = (event_type: EventType, message: string) => ({ event_type, message, ...about });
  return toNotices(to, {
    message,
    sent: event(`${events}_notified`, `Told ${to.name}: ${header}: ${task.title}.`),
    failed: event(`${events}_notify_failed`, `Could not tell ${to.name}: ${header}: ${task.title}.`),
  });
}

/** What somebody's new task causes: the lead learns of a person's task, the assignee of its own. */
export function creationNotices(board: BoardRow, task: Told, people: readonly Colleague[], by_user: boolean): NewNotice[] {
  const lead = leadOf(board, people);
  return [
    ...(by_user && lead ? tell(board, task, lead, { events: "task.lead", header: "NEW TASK ADDED" }) : []),
    ...assignmentNotices(board, task, people, null),
  ];
}

/** `self` is the agent that does it, which needs not be told. */
function assignmentNotices(board: BoardRow, task: Told, people: readonly Colleague[], self: string | null): NewNotice[] {
  const assignee = people.find(({ agent_id }) => agent_id === task.assigned_agent_id);
  if (!assignee || assignee.agent_id === self) return [];
  const forReview = task.status === "review" && assignee.agent_id === leadOf(board, people)?.agent_id;
  const header = forReview ? "TASK READY FOR LEAD REVIEW" : "TASK ASSIGNED";
  return tell(board, task, assignee, { events: "task.assignee", header });
}

interface Changed {
  before: TaskRow;
  after: TaskRow;
  people: readonly Colleague[];
  /** The agent that did it. */
  self: string | null;
  /** What the lead wrote in its review. */
  review_comment: string | null;
}

/** What a change of a task causes: whoever gets it is told, and the lead when nobody has it any more. */
export function changeNotices(board: BoardRow, { before, after, people, self, review_comment }: Changed): NewNotice[] {
  const lead = leadOf(board, people);
  const byLead = lead !== undefined && lead.agent_id === self;
  const back = lead && !byLead && isBack(before, after) ? backInInbox(board, after, lead) : [];
  const assignee = people.find(({ agent_id }) => agent_id === after.assigned_agent_id);
  if (byLead && assignee && before.status === "review" && after.status === "inbox")
    return tell(board, after, assignee, { events: "task.rework", header: "CHANGES REQUESTED", requested: review_comment });
  if (before.assigned_agent_id === after.assigned_agent_id) return back;
  return [...back, ...assignmentNotices(board, after, people, self)];
}

/** The task has become a free one in the inbox, which it was not. */
const isBack = (before: Told, after: Told) =>
  after.status === "inbox" &&
  after.assigned_agent_id === null &&
  (before.status !== "inbox" || before.assigned_agent_id !== null);

const backInInbox = (board: BoardRow, task: Told, lead: Colleague) =>
  tell(board, task, lead, { events: "task.lead_unassigned", header: "TASK BACK IN INBOX" });

/** A reopened dependency has taken a task from its assignee: both the assignee and the lead are told, whoever reopened it. */
export function returnNotices(
  board: BoardRow,
  task: Told,
  { former, people, self }: { former: string | null; people: readonly Colleague[]; self: string | null },
): NewNotice[] {
  const lead = leadOf(board, people);
  const assignee = people.find(({ agent_id }) => agent_id === former);
  const tellsLead = lead !== undefined && lead.agent_id !== self;
  return [
    ...(tellsLead ? backInInbox(board, task, lead) : []),
    ...(assignee && assignee.agent_id !== self && !(tellsLead && assignee === lead)
      ? tell(board, task, assignee, { header: "TASK BACK IN INBOX" })
      : []),
  ];
}
