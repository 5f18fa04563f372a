import { type SQL, sql } from "drizzle-orm";
import { mayReadGroupNow } from "../organization/access.ts";
import { isAdminNow, mayReadNow, mayWriteNow } from "../organization/board-rights.ts";
import { user_notifications } from "../schema/people.sql.ts";

const { type, user_id, organization_id, board_id, subject_id } = user_notifications;

/**
 * Whether the person may still see a notification. A notification without a board is a mention in a group's chat, the expiry of a
 * key (which the key's creator may also see), or for admins only.
 */
export const mayBeShown: SQL = sql`case when ${board_id} is not null or ${type} = 'key.expires_soon' then ${mayReadNow(user_notifications)}
  when ${type} = 'mention' then ${mayReadGroupNow({ user_id, organization_id, group_id: subject_id })}
  else ${isAdminNow(user_notifications)} end`;

/**
 * Whether a notification may be sent. A message that asks for a decision has buttons, so only people who may still decide get it.
 */
export const mayBeSent: SQL = sql`case when ${type} in ('approval.requested', 'question.asked')
  then ${mayWriteNow(user_notifications)} else ${mayBeShown} end`;
