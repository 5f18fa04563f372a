import { sql } from "drizzle-orm";
import { aggregatedList, type LargeField } from "../lists/large-fields.ts";
import { tasks } from "../schema/task.sql.ts";
import type { TagLabel } from "./tag.ts";
import { tag_assignments, tags } from "../schema/tag.sql.ts";

const ofTask = sql`where assignment.task_id = ${tasks}.id`;
const inOrder = sql`order by assignment.position, assignment.id`;

/** A column of a select over `tasks`: the ids of the task's tags, in the order in which the request listed them. */
export const taskTagIds = sql<string[]>`coalesce((
  select jsonb_agg(assignment.tag_id ${inOrder}) from ${tag_assignments} as assignment ${ofTask}), '[]')`;

/** A column of a select over `tasks`: the task's tags with name, slug and color. */
const labels = aggregatedList<TagLabel>(
  sql`json_agg(json_build_object('id', tag.id, 'name', tag.name, 'slug', tag.slug, 'color', tag.color) ${inOrder})`,
  sql`from ${tag_assignments} as assignment join ${tags} as tag on tag.id = assignment.tag_id ${ofTask}`,
);
export const taskTags = labels.column;

/** How a list shortens `taskTags` when the answer would be too large. */
export const largeTaskTags: LargeField = labels;
