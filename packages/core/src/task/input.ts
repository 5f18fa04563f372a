import * as z from "zod";
import { Id, InstantIn, JsonObject, MAX_IDS, MAX_TEXT, NonEmpty } from "../wire.ts";
import { TaskStatus } from "./task.ts";

const MAX_TITLE = 500;
const MAX_PRIORITY = 50;

const Ids = z.array(Id).max(MAX_IDS).nullable().optional();

const shape = {
  description: z.string().max(MAX_TEXT).nullable().optional().describe("What is to be done, in full."),
  due_at: InstantIn.nullable().optional().describe("When it should be done."),
  assigned_agent_id: Id.nullable().optional().describe("Agent of the board that is to work on it."),
  depends_on_task_ids: Ids.describe("Tasks of the board that must be done first; null is as good as absent."),
  dependencies: Ids.describe("Another name of `depends_on_task_ids`, which wins."),
  tag_ids: Ids.describe("Tags of the organization; null is as good as absent."),
  custom_field_values: JsonObject.nullable().optional().describe("Values of the board's custom fields by key."),
};

export const CreateTask = z
  .object({
    title: NonEmpty(MAX_TITLE).describe("What is to be done, in a line."),
    status: TaskStatus.default("inbox").describe("Where the task stands."),
    priority: NonEmpty(MAX_PRIORITY).default("medium").describe("`high`, `medium`, `low` or a word of your own."),
    ...shape,
  })
  .meta({ id: "TaskCreate" });
export type CreateTask = z.infer<typeof CreateTask>;

export const CreateTaskOnBoard = CreateTask.extend({ board_id: Id.describe("Board that the task is for.") }).meta({
  id: "TaskCreateOnBoard",
});

export const UpdateTask = z
  .object({
    title: NonEmpty(MAX_TITLE).optional().describe("What is to be done, in a line."),
    status: TaskStatus.optional().describe("Where the task goes; its present status is no move."),
    priority: NonEmpty(MAX_PRIORITY).optional().describe("`high`, `medium`, `low` or a word of your own."),
    ...shape,
    comment: z.string().max(MAX_TEXT).nullable().optional().describe("A comment on the task; blank is as good as absent."),
  })
  .meta({ id: "TaskUpdate" });
export type UpdateTask = z.infer<typeof UpdateTask>;

/** What a caller really asks for: aliases and ways of saying nothing are gone, and ids stand once. */
export interface Wish {
  title?: string | undefined;
  description?: string | null | undefined;
  status?: TaskStatus | undefined;
  priority?: string | undefined;
  due_at?: Date | null | undefined;
  assigned_agent_id?: string | null | undefined;
  depends_on_task_ids?: string[] | undefined;
  tag_ids?: string[] | undefined;
  custom_field_values?: Record<string, unknown> | undefined;
  comment?: string | undefined;
}

export function toWish({ dependencies, depends_on_task_ids, tag_ids, custom_field_values, ...input }: UpdateTask): Wish {
  return {
    ...input,
    depends_on_task_ids: once(depends_on_task_ids ?? dependencies),
    tag_ids: once(tag_ids),
    custom_field_values: custom_field_values ?? undefined,
    comment: input.comment?.trim() || undefined,
  };
}

const once = (ids: string[] | null | undefined) => (ids ? [...new Set(ids)] : undefined);
