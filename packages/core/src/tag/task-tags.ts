import { sql } from "drizzle-orm";
import { aggregatedList, type LargeField } from "../lists/large-fields.ts";
import { tasks } from "../schema/task.sql.ts";
import type { TagLabel } from "./tag.ts";
import { tag_assignments, tags } from "../schema/tag.sql.ts";

const ofTask = sql`where assignment.task_id = ${tasks}.id`;
const inOrder = sql`order by assignment.position, assignment.id`;

/** The ids of a task's tags in their order, as a column of a select over `tasks`. */
export const taskTagIds = sql<string[]>`coalesce((
  select jsonb_agg(assignment.tag_id ${inOrder}) from ${tag_assignments} as assignment ${ofTask}), '[]')`;

/** The same tags as labels. */
const labels = aggregatedList<TagLabel>(
  sql`json_agg(json_build_object('id', tag.id, 'name', tag.name, 'slug', tag.slug, 'color', tag.color) ${inOrder})`,
  sql`from ${tag_assignments} as assignment join ${tags} as tag on tag.id = assignment.tag_id ${ofTask}`,
);
export const taskTags = labels.column;

/** How `taskTags` is shortened in a list that would be too large. */
export const largeTaskTags: LargeField = labels;
