import * as z from "zod";
import { AGENT_STATUSES } from "../schema/agent.sql.ts";
import { BUDGET_PERIODS, BUDGET_SCOPES } from "../schema/budget.sql.ts";
import { APPROVAL_STATUSES } from "../schema/approval.sql.ts";
import { RUN_STATUSES, TASK_STATUSES } from "../schema/task.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";

/** Who caused an event. Jobs and schedules act as `system`. */
const EventActor = lazyObject(() => ({
  type: z.enum(["user", "agent", "system"]).describe("A person, an agent, or the service itself."),
  id: Id.nullable().describe("Id of the person or agent; null for the service itself."),
})).describe("Who did it.");

const Envelope = lazyObject(() => ({
  version: z.literal(1).describe("Version of the schema. A version may gain fields."),
  id: Id.describe("Id of the event; the same when it is delivered again."),
  occurred_at: Instant.describe("When it happened."),
  organization_id: Id.describe("Organization of the board."),
  board_id: Id.describe("Board on which it happened."),
  actor: EventActor,
}));

/**
 * The common fields of an event that may concern the whole organization. Subscriptions of a board do not get an event without a
 * board.
 */
const Anywhere = lazyObject(() => ({
  ...Envelope.shape,
  board_id: Id.nullable().describe("Board on which it happened; null for what concerns the whole organization."),
}));

const subject = <T extends string>(...types: [T, ...T[]]) =>
  z
    .object({ type: z.enum(types).describe("Kind of the subject."), id: Id.describe("Id of the subject.") })
    .describe("What it happened to.");

const changed_fields = z.array(z.string()).describe("Names of the changed fields, as in the API.");

const TaskFields = lazyObject(() => ({
  ...Envelope.shape,
  subject: subject("task"),
  status: z.enum(TASK_STATUSES).describe("Status of the task after the change."),
  assigned_agent_id: Id.nullable().describe("Assignee after the change, or null."),
}));
const AgentFields = lazyObject(() => ({
  ...Envelope.shape,
  subject: subject("agent"),
  status: z.enum(AGENT_STATUSES).describe("Stored status of the agent."),
}));

/**
 * An event of a board, as subscribers outside the service receive it. It contains ids, statuses and field names, but no secrets
 * and no text that people or agents wrote, because customers may forward it anywhere.
 */
export const BoardEvent = z.discriminatedUnion("type", [
  lazyObject(() => ({
    type: z.enum(["task.created", "task.assigned", "task.completed"]).describe("What happened."),
    ...TaskFields.shape,
  })),
  lazyObject(() => ({ type: z.literal("task.updated").describe("What happened."), ...TaskFields.shape, changed_fields })),
  lazyObject(() => ({ type: z.literal("agent.created").describe("What happened."), ...AgentFields.shape })),
  lazyObject(() => ({ type: z.literal("agent.updated").describe("What happened."), ...AgentFields.shape, changed_fields })),
  lazyObject(() => ({
    type: z.enum(["approval.requested", "approval.resolved"]).describe("What happened."),
    ...Envelope.shape,
    subject: subject("approval"),
    status: z.enum(APPROVAL_STATUSES).describe("Status of the approval after the change."),
    task_ids: z.array(Id).describe("Tasks that the approval covers."),
  })),
  lazyObject(() => ({
    type: z.enum(["run.expired", "run.stopped"]).describe("What happened."),
    ...Envelope.shape,
    subject: subject("run"),
    status: z.enum(RUN_STATUSES).describe("How the run ended."),
    task_id: Id.describe("Task of the run."),
    agent_id: Id.describe("Agent whose run it was."),
  })),
  lazyObject(() => ({
    type: z.enum(["budget.warned", "budget.exhausted"]).describe("What happened."),
    ...Envelope.shape,
    board_id: Id.nullable().describe("Board on which it was spent; null if it was spent on no board."),
    subject: subject("budget"),
    scope: z.enum(BUDGET_SCOPES).describe("What the budget is for."),
    scope_id: Id.describe("Id of the organization, board, agent or task."),
    period: z.enum(BUDGET_PERIODS).describe("Period of the budget. In each period, the event happens at most once."),
  })),
  lazyObject(() => ({
    type: z.literal("mention").describe("What happened."),
    ...Anywhere.shape,
    subject: subject("task", "board", "board_group"),
    user_ids: z.array(Id).describe("The people whom a comment, chat message or note mentions."),
  })),
  lazyObject(() => ({
    type: z.enum(["gateway.down", "agent.silent", "delivery.dead", "key.expires_soon"]).describe("What happened."),
    ...Anywhere.shape,
    subject: subject("gateway", "agent", "subscription", "key"),
  })),
]);
export type BoardEvent = z.infer<typeof BoardEvent>;

/** The types of all board events that receivers outside the service can subscribe to. */
export const BOARD_EVENT_TYPES = [
  "task.created",
  "task.updated",
  "task.assigned",
  "task.completed",
  "agent.created",
  "agent.updated",
  "approval.requested",
  "approval.resolved",
  "run.expired",
  "run.stopped",
  "budget.warned",
  "budget.exhausted",
  "mention",
  "gateway.down",
  "agent.silent",
  "delivery.dead",
  "key.expires_soon",
] as const satisfies readonly BoardEvent["type"][];

type DistributiveOmit<Event, Key extends keyof BoardEvent> = Event extends unknown ? Omit<Event, Key> : never;

/** A board event as domain code creates it. The other fields are added in `subscription/board-event.ts`. */
export type NewBoardEvent = DistributiveOmit<BoardEvent, "version" | "id" | "occurred_at" | "actor">;

/** The payload of the job that publishes a board event. The id of the event is the id of the job. */
export type BoardEventPayload = DistributiveOmit<BoardEvent, "id">;
