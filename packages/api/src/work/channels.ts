import { emailChannel } from "@board/core/channel/email-channel";
import type { ChannelKind } from "@board/core/channel/kind";
import { pushChannel } from "@board/core/push/channel";
import { slackChannel } from "@board/core/slack/channel";

/** The channels through which people are reached outside the console. */
export const CHANNELS: readonly ChannelKind[] = [emailChannel, pushChannel, slackChannel];
