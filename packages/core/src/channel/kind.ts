import type { Context } from "../context/context.ts";
import type { NotificationFacts } from "../people/notification-text.ts";
import type { ChannelType, channels } from "../schema/channel.sql.ts";
import type { user_notifications } from "../schema/people.sql.ts";

/** The kinds of jobs that send by a channel what is due for an organization. */
export type ChannelJob = "people.email" | "people.push" | "people.slack";

/** A way to reach people outside the console. Each is a separate room or file, and `work/channels.ts` lists them. */
export interface ChannelKind {
  readonly type: ChannelType;
  readonly job: ChannelJob;
  /** Whether the operator has set it up. Without it, nothing is stored for the channel. */
  isOn(ctx: Context): boolean;
  /** Adds the channels that people have without asking for them, in the transaction that stores their deliveries. */
  addChannels?(ctx: Context, organization_id: string, user_ids: readonly string[]): Promise<void>;
  /** Opens what sends for an organization: a date if it may not send before, null if the organization has nothing to send by. */
  open(ctx: Context, organization_id: string): Promise<Sender | Date | null>;
  /** Sends a test message at once. Throws an `ExpectedFailure` if it was not accepted. */
  sendTest?(ctx: Context, recipient: Recipient): Promise<void>;
}

/** Sends what is due for the people of one organization. */
export interface Sender {
  /** Channels to which it sends at the same time, by default one. */
  readonly max_concurrent?: number;
  /** Which of the notifications for one channel share a message. What is in no message is not sent at all. */
  split(due: readonly Due[]): Due[][];
  /**
   * Sends one message, all of it for one channel. Throws an `ExpectedFailure` if it was not accepted. The returned write is done
   * in the transaction that stores the result.
   */
  send(message: readonly Due[]): Promise<SendWrite | void>;
  /** Records that nothing may be sent before a time, in the transaction that stores the results. */
  onStopped?(ctx: Context, failure: string, until: Date): Promise<void>;
}

/** One channel of a person. */
export interface Recipient {
  organization_id: string;
  channel: Pick<ChannelRow, "id" | "address_sealed">;
  /** The address in the profile. */
  email: string | null;
}

export type SendWrite = (ctx: Context) => Promise<void>;

type ChannelRow = typeof channels.$inferSelect;

/** A notification that is to be sent now, with what it is about. */
export type Due = NotificationFacts &
  Pick<typeof user_notifications.$inferSelect, "subject_id" | "board_id" | "task_id" | "user_id"> &
  Recipient & {
    /** Id of the notification. */
    id: string;
    delivery_id: string;
    attempts: number;
  };
