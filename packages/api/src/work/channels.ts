import { emailChannel } from "@board/core/channel/email-channel";
import type { ChannelKind } from "@board/core/channel/kind";
import { pushChannel } from "@board/core/push/channel";

/** The ways to reach people outside the console. */
export const CHANNELS: readonly ChannelKind[] = [emailChannel, pushChannel];
