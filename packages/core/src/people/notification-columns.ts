import { getTableColumns, sql } from "drizzle-orm";
import { QUESTION } from "../approval/question.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { agents } from "../schema/agent.sql.ts";
import { approvals } from "../schema/approval.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { user_notifications } from "../schema/people.sql.ts";
import type { NotificationFacts } from "./notification-text.ts";

/** The maximum number of characters to read of a text that somebody wrote. */
const MAX_CHARS = 2_000;
const notification = user_notifications;
const cut = (text: string) => sql.raw(`left(${text}, ${MAX_CHARS})`);

/**
 * The columns of a notification and of its subject. Except for the names of people and agents, each look-up also compares the
 * organization or board, so that nothing from a different organization or board is shown.
 */
export const notificationColumns = {
  ...getTableColumns(user_notifications),
  board_name: sql<string | null>`(select board.name from ${boards} as board
    where board.id = ${notification}.board_id and board.organization_id = ${notification}.organization_id)`,
  task_title: sql<string | null>`(select task.title from ${tasks} as task
    where task.id = ${notification}.task_id and task.board_id = ${notification}.board_id)`,
  actor_name: sql<string | null>`case ${notification}.actor_type
    when 'agent' then (select agent.name from ${agents} as agent where agent.id = ${notification}.actor_id)
    when 'user' then (select coalesce(person.preferred_name, person.name, person.email) from ${users} as person
      where person.id = ${notification}.actor_id) end`,
  subject_name: sql<string | null>`case ${notification}.type
    when 'agent.silent' then (select agent.name from ${agents} as agent where agent.id = ${notification}.subject_id)
    when 'gateway.down' then (select gateway.name from ${gateways} as gateway
      where gateway.id = ${notification}.subject_id and gateway.organization_id = ${notification}.organization_id)
    when 'key.expires_soon' then (select service.name from ${users} as service where service.id = ${notification}.subject_id
      and service.service_organization_id = ${notification}.organization_id)
    when 'delivery.dead' then (select split_part(split_part(subscription.url, '://', 2), '/', 1) from ${subscriptions} as subscription
      where subscription.id = ${notification}.subject_id and subscription.organization_id = ${notification}.organization_id) end`,
  approval: sql<NotificationFacts["approval"]>`case when ${notification}.type in ('approval.requested', 'question.asked') then
    (select json_build_object('action_type', approval.action_type, 'reason', ${cut("approval.payload ->> 'reason'")},
      'title', ${cut("approval.payload ->> 'title'")}, 'status', approval.status,
      'offer', case when approval.action_type = ${QUESTION} then json_build_object('options', approval.payload -> 'options',
        'allow_text', approval.payload -> 'allow_text') end)
      from ${approvals} as approval where approval.id = ${notification}.subject_id and approval.board_id = ${notification}.board_id) end`,
  comment: sql<string | null>`case when ${notification}.type = 'mention' and ${notification}.task_id is not null then
    (select ${cut("event.message")} from ${activity_events} as event
      where event.task_id = ${notification}.task_id and event.event_type = 'task.comment'
        and coalesce(event.agent_id, event.user_id) = ${notification}.actor_id and event.message like '%@%'
        and event.created_at <= ${notification}.created_at
      order by event.created_at desc limit 1) end`,
};
