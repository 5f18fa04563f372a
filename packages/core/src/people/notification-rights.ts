import { type SQL, sql } from "drizzle-orm";
import { mayReadGroupNow } from "../organization/access.ts";
import { isAdminNow, mayReadNow, mayWriteNow } from "../organization/board-rights.ts";
import { user_notifications } from "../schema/people.sql.ts";

const { type, user_id, organization_id, board_id, subject_id } = user_notifications;

/**
 * Whether the person may still read the place of a notification. Without a board, a mention is in the chat of a group, the end of a
 * key concerns its creator too, and everything else only admins.
 */
export const mayBeShown: SQL = sql`case when ${board_id} is not null or ${type} = 'key.expires_soon' then ${mayReadNow(user_notifications)}
  when ${type} = 'mention' then ${mayReadGroupNow({ user_id, organization_id, group_id: subject_id })}
  else ${isAdminNow(user_notifications)} end`;

/** Whether a notification may be sent. A message about a decision has buttons, so only who may still decide gets it. */
export const mayBeSent: SQL = sql`case when ${type} in ('approval.requested', 'question.asked')
  then ${mayWriteNow(user_notifications)} else ${mayBeShown} end`;
