import { type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { activity_events } from "../schema/activity.sql.ts";
import { agents } from "../schema/agent.sql.ts";
import { approvals } from "../schema/approval.sql.ts";
import { artifact_reviews, artifacts } from "../schema/artifact.sql.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { board_group_memory } from "../schema/group-memory.sql.ts";
import { inbox_messages } from "../schema/inbox.sql.ts";
import { organization_invites } from "../schema/invite.sql.ts";
import { board_memory } from "../schema/memory.sql.ts";
import { board_onboarding_sessions } from "../schema/onboarding.sql.ts";
import { saved_views } from "../schema/saved-view.sql.ts";
import { marketplace_skills } from "../schema/skill.sql.ts";
import { skill_packs } from "../schema/skill-pack.sql.ts";
import { tags } from "../schema/tag.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_custom_field_definitions, task_custom_field_values } from "../schema/task-custom-field.sql.ts";
import { usage_counts } from "../schema/usage.sql.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

/** Bytes that are added to the texts of each row, so that the number of rows with short texts is limited too. */
const ROW_BYTES = 200;

interface StoredText {
  columns: readonly PgColumn[];
  /** The column with the organization's id, or with the id of the row of `through` that belongs to the organization. */
  owner: PgColumn;
  through?: PgTable;
  /** Only rows that meet this condition count. The other rows contain texts that the service itself wrote. */
  only?: SQL;
}

/**
 * The texts of members and agents to which no other limit or retention applies. The triggers of the migration `stored_text` count
 * exactly these texts, so a new entry or column needs a migration that replaces the triggers.
 */
export const STORED_TEXTS = {
  activity_events: {
    columns: [activity_events.message, activity_events.tags],
    owner: activity_events.organization_id,
    only: sql`event_type = 'task.comment'`,
  },
  agents: {
    columns: [agents.name, agents.heartbeat_config, agents.identity_profile, agents.identity_template, agents.soul_template],
    owner: agents.gateway_id,
    through: gateways,
  },
  approvals: {
    columns: [approvals.action_type, approvals.payload, approvals.rubric_scores],
    owner: approvals.board_id,
    through: boards,
  },
  artifact_reviews: { columns: [artifact_reviews.paths], owner: artifact_reviews.organization_id },
  artifacts: { columns: [artifacts.name, artifacts.content_type], owner: artifacts.organization_id },
  board_group_memory: {
    columns: [board_group_memory.content, board_group_memory.tags, board_group_memory.source],
    owner: board_group_memory.board_group_id,
    through: board_groups,
  },
  board_groups: {
    columns: [board_groups.name, board_groups.slug, board_groups.description],
    owner: board_groups.organization_id,
  },
  board_memory: {
    columns: [board_memory.memory_key, board_memory.value, board_memory.content, board_memory.tags, board_memory.source],
    owner: board_memory.board_id,
    through: boards,
  },
  board_onboarding_sessions: {
    columns: [board_onboarding_sessions.messages, board_onboarding_sessions.draft_goal],
    owner: board_onboarding_sessions.board_id,
    through: boards,
  },
  board_webhooks: {
    columns: [board_webhooks.description, board_webhooks.event_types, board_webhooks.signature_header],
    owner: board_webhooks.board_id,
    through: boards,
  },
  boards: {
    columns: [boards.name, boards.slug, boards.description, boards.objective, boards.success_metrics],
    owner: boards.organization_id,
  },
  gateways: { columns: [gateways.name, gateways.url, gateways.workspace_root], owner: gateways.organization_id },
  inbox_messages: {
    columns: [inbox_messages.text],
    owner: inbox_messages.organization_id,
    only: sql`author_id is not null`,
  },
  marketplace_skills: {
    columns: [
      marketplace_skills.name,
      marketplace_skills.description,
      marketplace_skills.category,
      marketplace_skills.risk,
      marketplace_skills.source_label,
      marketplace_skills.source_url,
      marketplace_skills.metadata,
    ],
    owner: marketplace_skills.organization_id,
  },
  organization_invites: { columns: [organization_invites.invited_email], owner: organization_invites.organization_id },
  saved_views: { columns: [saved_views.views], owner: saved_views.organization_id },
  skill_packs: {
    columns: [skill_packs.name, skill_packs.description, skill_packs.source_url, skill_packs.branch, skill_packs.metadata],
    owner: skill_packs.organization_id,
  },
  tags: { columns: [tags.name, tags.slug, tags.description], owner: tags.organization_id },
  task_custom_field_definitions: {
    columns: [
      task_custom_field_definitions.field_key,
      task_custom_field_definitions.label,
      task_custom_field_definitions.validation_regex,
      task_custom_field_definitions.description,
      task_custom_field_definitions.default_value,
    ],
    owner: task_custom_field_definitions.organization_id,
  },
  task_custom_field_values: {
    columns: [task_custom_field_values.value],
    owner: task_custom_field_values.definition_id,
    through: task_custom_field_definitions,
  },
  tasks: { columns: [tasks.title, tasks.description], owner: tasks.board_id, through: boards },
  usage_counts: { columns: [usage_counts.model, usage_counts.name], owner: usage_counts.organization_id },
} as const satisfies Record<string, StoredText>;

const toSize = (columns: readonly PgColumn[]): SQL =>
  sql.join(
    [sql`${sql.raw(String(ROW_BYTES))}`, ...columns.map((column) => sql`coalesce(octet_length(${column}::text), 0)`)],
    sql` + `,
  );

/**
 * Returns the size in bytes of an organization's texts, measured on the rows themselves. It should equal the sum of the
 * organization's counter shards.
 */
export function storedTextBytes(organization_id: string): SQL {
  const sums = Object.values<StoredText>(STORED_TEXTS).map(({ columns, owner, through, only }) => {
    const owners = through
      ? sql`(select id from ${through} where organization_id = ${organization_id})`
      : sql`(${organization_id}::uuid)`;
    return sql`(select coalesce(sum(${toSize(columns)}), 0) from ${owner.table} where ${owner} in ${owners} and ${only ?? sql`true`})`;
  });
  return sql`(${sql.join(sums, sql` + `)})`;
}
