import type { Agent, User } from "@board/core/context/actor";
import type { boards, tasks } from "@board/core/schema/all-tables";
import type { BoardAgent } from "@board/core/notification/board-agents";
import type { Notification } from "@board/core/notification/notification";
import { type TaskEffects, type TaskUpdate, toUpdateEffects } from "@board/core/task/effects";
import { expect, test } from "vitest";

/** The effects of an update are a pure function of the change: these tests need no database. */
type TaskRow = typeof tasks.$inferSelect;

const board = {
  id: "board",
  organization_id: "organization",
  name: "Board",
  gateway_id: "gateway",
} as typeof boards.$inferSelect;
const user: User = { type: "user", user_id: "ada", display_name: "Ada", active: null };
const boardAgent = (agent_id: string, is_board_lead = false): BoardAgent & Agent => ({
  type: "agent",
  agent_id,
  name: agent_id,
  organization_id: board.organization_id,
  gateway_id: board.gateway_id,
  gateway_kind: "openclaw",
  board_id: board.id,
  is_board_lead,
  openclaw_session_id: `session-${agent_id}`,
  requests_per_minute: null,
  has_budgets: false,
  newly_seen: false,
});
const lead = boardAgent("lead", true);
const worker = boardAgent("worker");

const task = (fields: Partial<TaskRow>) =>
  ({ id: "task", board_id: board.id, title: "Task", priority: "medium", ...fields }) as TaskRow;

function effects(fields: Partial<TaskUpdate> & Pick<TaskUpdate, "before" | "after">): TaskEffects {
  const { before, after } = fields;
  return toUpdateEffects({
    actor: user,
    board,
    agents: [lead, worker],
    is_changed: before !== after,
    changed_fields: [],
    comment: undefined,
    review_comment: null,
    returned: [],
    dependents: [],
    ...fields,
  });
}

const toPayload = (notification: Notification) => (notification.kind === "notice" ? notification.payload : []);

const summary = ({ transitions, events, notifications, board_events }: TaskEffects) => ({
  transitions: transitions.map(({ task_id, from_status, to_status }) => `${task_id}: ${from_status} -> ${to_status}`),
  events: events.map(({ task_id, event_type }) => `${task_id}: ${event_type}`),
  notifications: notifications.flatMap(toPayload).map(({ label, message }) => `${label}: ${message?.split("\n")[0]}`),
  board_events: board_events.map(({ subject, type }) => `${subject.id}: ${type}`),
});

const inbox = task({ status: "inbox", assigned_agent_id: null });
const started = task({ status: "in_progress", assigned_agent_id: worker.agent_id });
const inReview = task({ status: "review", assigned_agent_id: lead.agent_id });
const done = task({ status: "done", assigned_agent_id: worker.agent_id });

test("an update that changes nothing has no effects", () => {
  expect(effects({ before: inbox, after: inbox })).toEqual({ transitions: [], events: [], notifications: [], board_events: [] });
});

test("a comment alone records one event and notifies the assignee", () => {
  expect(summary(effects({ before: started, after: started, comment: "Hello" }))).toEqual({
    transitions: [],
    events: ["task: task.comment"],
    notifications: ["worker: NEW TASK COMMENT"],
    board_events: [],
  });
});

test("a claim moves the task and does not notify the agent that claimed it", () => {
  expect(summary(effects({ actor: worker, before: inbox, after: started }))).toEqual({
    transitions: ["task: inbox -> in_progress"],
    events: ["task: task.status_changed", "task: task.assigned", "task: task.assignee_woken"],
    notifications: [],
    board_events: ["task: task.updated", "task: task.assigned"],
  });
});

test("a move to review notifies the lead", () => {
  expect(summary(effects({ actor: worker, before: started, after: inReview })).notifications).toEqual([
    "lead: TASK READY FOR LEAD REVIEW",
  ]);
});

test("work sent back from review notifies the worker with the lead's comment", () => {
  const after = task({ status: "inbox", assigned_agent_id: worker.agent_id });
  const { notifications } = effects({ actor: lead, before: inReview, after, review_comment: "Add tests" });
  const payloads = notifications.flatMap(toPayload);
  expect(payloads.map(({ label }) => label)).toEqual(["worker"]);
  expect(payloads[0]!.message).toMatch(/^CHANGES REQUESTED[^]*Add tests/);
});

test("a finished task unblocks its dependents that are still open", () => {
  const dependents: TaskUpdate["dependents"] = [
    { id: "open", status: "inbox", assigned_agent_id: null, open: true },
    { id: "finished", status: "done", assigned_agent_id: null, open: false },
  ];
  expect(summary(effects({ before: started, after: done, dependents }))).toEqual({
    transitions: ["task: in_progress -> done"],
    events: ["task: task.status_changed", "open: task.updated"],
    notifications: [],
    board_events: ["task: task.updated", "task: task.completed", "open: task.updated"],
  });
});

test("a reopened task returns its dependents to the inbox, and notifies the lead and the former assignee", () => {
  const base = { title: "Dependent", description: null };
  const returned: TaskUpdate["returned"] = [
    { ...base, id: "started", from_status: "in_progress", former_assignee_id: worker.agent_id, moved: true },
    { ...base, id: "assigned", from_status: "inbox", former_assignee_id: worker.agent_id, moved: true },
    { ...base, id: "waiting", from_status: "blocked", former_assignee_id: worker.agent_id, moved: false },
  ];
  expect(summary(effects({ before: done, after: started, returned }))).toEqual({
    transitions: ["task: done -> in_progress", "started: in_progress -> inbox"],
    events: [
      "task: task.status_changed",
      "task: task.assignee_woken",
      "started: task.status_changed",
      "assigned: task.updated",
      "waiting: task.updated",
    ],
    notifications: [
      "lead: TASK BACK IN INBOX",
      "worker: TASK BACK IN INBOX",
      "lead: TASK BACK IN INBOX",
      "worker: TASK BACK IN INBOX",
    ],
    board_events: ["task: task.updated", "started: task.updated", "assigned: task.updated", "waiting: task.updated"],
  });
});
