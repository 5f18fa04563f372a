import type { Context } from "../context/context.ts";
import type { NotificationFacts } from "../people/notification-text.ts";
import type { ChannelType, channels } from "../schema/channel.sql.ts";
import type { user_notifications } from "../schema/people.sql.ts";

/** The kinds of jobs that send an organization's due notifications on a channel. */
export type ChannelJob = "people.email" | "people.push" | "people.slack";

/**
 * A way to reach people outside the console, for example e-mail. Each has its own folder or file, and `work/channels.ts` lists
 * them.
 */
export interface ChannelKind {
  readonly type: ChannelType;
  readonly job: ChannelJob;
  /** Whether the operator has set up the channel. If not, nothing is stored for it. */
  isOn(ctx: Context): boolean;
  /** Adds channels that people get without setting them up, in the transaction that stores the deliveries on these channels. */
  addChannels?(ctx: Context, organization_id: string, user_ids: readonly string[]): Promise<void>;
  /**
   * Prepares sending for an organization. Returns a date if nothing may be sent before it, and null if the organization has no
   * means to send.
   */
  open(ctx: Context, organization_id: string): Promise<Sender | Date | null>;
  /** Sends a test message at once. Throws an `ExpectedFailure` if the receiver did not accept it. */
  sendTest?(ctx: Context, recipient: Recipient): Promise<void>;
}

/** Sends the due notifications of the people of one organization. */
export interface Sender {
  /** How many channels are sent to at the same time; one by default. */
  readonly max_concurrent?: number;
  /** Groups the due notifications of one channel into messages. A notification that is in no group is not sent at all. */
  split(due: readonly Due[]): Due[][];
  /**
   * Sends one message, whose notifications all belong to one channel. Throws an `ExpectedFailure` if the receiver did not accept
   * it. The returned write runs in the transaction that stores the result.
   */
  send(message: readonly Due[]): Promise<SendWrite | void>;
  /** Records that nothing may be sent before a certain time, in the transaction that stores the results. */
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

/** A notification that is due, with the texts and names that a message shows. */
export type Due = NotificationFacts &
  Pick<typeof user_notifications.$inferSelect, "subject_id" | "board_id" | "task_id" | "user_id"> &
  Recipient & {
    /** Id of the notification. */
    id: string;
    delivery_id: string;
    attempts: number;
  };
