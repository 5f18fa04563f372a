import { type SQL, sql } from "drizzle-orm";
import { mayReadGroupNow } from "../organization/access.ts";
import { mayReadNow, mayWriteNow } from "../organization/board-rights.ts";
import { user_notifications } from "../schema/people.sql.ts";

const { type, user_id, organization_id, board_id, subject_id } = user_notifications;

/** Whether the person may still read the place of a notification. A mention without a board is in the chat of a group. */
export const mayBeShown: SQL = sql`case when ${type} = 'mention' and ${board_id} is null
  then ${mayReadGroupNow({ user_id, organization_id, group_id: subject_id })} else ${mayReadNow(user_notifications)} end`;

/** Whether a notification may be sent. A message about a decision has buttons, so only who may still decide gets it. */
export const mayBeSent: SQL = sql`case when ${type} in ('approval.requested', 'question.asked')
  then ${mayWriteNow(user_notifications)} else ${mayBeShown} end`;
