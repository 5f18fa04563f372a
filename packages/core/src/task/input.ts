import * as z from "zod";
import { TaskBudget } from "../budget/budget.ts";
import { Id, InstantInput, JsonObject, MAX_IDS, MAX_TEXT, NonEmpty, lazyObject } from "../values/wire.ts";
import { TaskStatus } from "./task-status.ts";

const MAX_TITLE = 500;
const MAX_PRIORITY = 50;

const Ids = z.array(Id).max(MAX_IDS).nullable().optional();

const Fields = lazyObject(() => ({
  description: z.string().max(MAX_TEXT).nullable().optional().describe("What has to be done, in full."),
  due_at: InstantInput.nullable().optional().describe("When it is due."),
  assigned_agent_id: Id.nullable().optional().describe("Agent of the board to assign the task to."),
  depends_on_task_ids: Ids.describe("Tasks of the board that must be done first. Null counts as absent."),
  dependencies: Ids.describe("Alias of `depends_on_task_ids`, which wins when both are sent."),
  tag_ids: Ids.describe("Tags of the organization. Null counts as absent."),
  custom_field_values: JsonObject.nullable().optional().describe("Values of the board's custom fields by key."),
}));

export const CreateTask = lazyObject(() => ({
  title: NonEmpty(MAX_TITLE).describe("What has to be done, in one line."),
  status: TaskStatus.default("inbox").describe("State of the new task."),
  priority: NonEmpty(MAX_PRIORITY).default("medium").describe("`high`, `medium`, `low` or any other word."),
  ...Fields.shape,
  budget: TaskBudget.optional(),
})).meta({ id: "TaskCreate" });
export type CreateTask = z.infer<typeof CreateTask>;

export const CreateTaskOnBoard = lazyObject(() => ({
  ...CreateTask.shape,
  board_id: Id.describe("Board to create the task on."),
})).meta({
  id: "TaskCreateOnBoard",
});

export const UpdateTask = lazyObject(() => ({
  title: NonEmpty(MAX_TITLE).optional().describe("What has to be done, in one line."),
  status: TaskStatus.optional().describe("State to move the task to. Its current state is no move."),
  priority: NonEmpty(MAX_PRIORITY).optional().describe("`high`, `medium`, `low` or any other word."),
  ...Fields.shape,
  comment: z.string().max(MAX_TEXT).nullable().optional().describe("A comment on the task. Blank counts as absent."),
})).meta({ id: "TaskUpdate" });
export type UpdateTask = z.infer<typeof UpdateTask>;

/** Fields that only people may change and that are stored as sent. The `task.updated` event lists the changed ones. */
export const PLAIN_FIELDS = ["title", "description", "priority", "due_at"] as const;
type PlainField = (typeof PLAIN_FIELDS)[number];

/** Returns the plain fields of a request. A field that was not sent is undefined. */
export const plainFields = (patch: TaskPatch): Pick<TaskPatch, PlainField> =>
  Object.fromEntries(PLAIN_FIELDS.map((name) => [name, patch[name]]));

/** A normalized request: aliases are resolved, nulls that mean "not sent" are removed, and no id is repeated. */
export interface TaskPatch extends Pick<UpdateTask, PlainField | "status" | "assigned_agent_id"> {
  depends_on_task_ids?: string[] | undefined;
  tag_ids?: string[] | undefined;
  custom_field_values?: Record<string, unknown> | undefined;
  comment?: string | undefined;
}

export function toTaskPatch({
  dependencies,
  depends_on_task_ids,
  tag_ids,
  custom_field_values,
  ...input
}: UpdateTask): TaskPatch {
  return {
    ...input,
    depends_on_task_ids: toUniqueIds(depends_on_task_ids ?? dependencies),
    tag_ids: toUniqueIds(tag_ids),
    custom_field_values: custom_field_values ?? undefined,
    comment: input.comment?.trim() || undefined,
  };
}

const toUniqueIds = (ids: string[] | null | undefined) => (ids ? [...new Set(ids)] : undefined);
