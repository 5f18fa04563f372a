import * as z from "zod";
import { agentShape } from "../agent/agent.ts";
import { ApprovalStatus } from "../approval/approval.ts";
import { TaskStatus } from "../task/task.ts";
import { Id, Instant } from "../wire.ts";

/** Whoever caused an event. Jobs and schedules act for nobody. */
const Cause = z
  .object({
    type: z.enum(["user", "agent", "system"]).describe("A person, an agent, or the service itself."),
    id: Id.nullable().describe("Id of the person or agent; null for the service itself."),
  })
  .describe("Who did it.");

const shared = {
  version: z.literal(1).describe("Version of this shape. Fields may be added to it."),
  id: Id.describe("Id of the event, the same at every repeat of its delivery."),
  occurred_at: Instant.describe("When it happened."),
  organization_id: Id.describe("Organization that it happened in."),
  board_id: Id.describe("Board that it happened on."),
  actor: Cause,
};

const subject = <T extends string>(type: T) =>
  z
    .object({ type: z.literal(type).describe("Kind of the subject."), id: Id.describe("Id of the subject.") })
    .describe("What it happened to.");

const changed_fields = z.array(z.string()).describe("Names of the fields that changed, as the API shows them.");

const ofTask = {
  ...shared,
  subject: subject("task"),
  status: TaskStatus.describe("Where the task stands now."),
  assigned_agent_id: Id.nullable().describe("Agent that has the task now."),
};
const ofAgent = {
  ...shared,
  subject: subject("agent"),
  status: agentShape.status.describe("State of the agent as it is stored."),
};

/**
 * Something that happened on a board, as whoever subscribes outside gets it. Ids, states and names of fields: never a
 * secret, nor a text that somebody wrote, since where customers route it is theirs to decide.
 */
export const BoardEvent = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["task.created", "task.assigned", "task.completed"]).describe("What happened."), ...ofTask }),
  z.object({ type: z.literal("task.updated").describe("What happened."), ...ofTask, changed_fields }),
  z.object({ type: z.literal("agent.created").describe("What happened."), ...ofAgent }),
  z.object({ type: z.literal("agent.updated").describe("What happened."), ...ofAgent, changed_fields }),
  z.object({
    type: z.enum(["approval.requested", "approval.resolved"]).describe("What happened."),
    ...shared,
    subject: subject("approval"),
    status: ApprovalStatus.describe("The decision."),
    task_ids: z.array(Id).describe("Tasks that the approval is about."),
  }),
]);
export type BoardEvent = z.infer<typeof BoardEvent>;
