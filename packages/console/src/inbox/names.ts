import type { Channel, UserNotification } from "../types.ts";

export const TYPE_NAMES: Record<UserNotification["type"], string> = {
  "approval.requested": "An approval is requested",
  "question.asked": "An agent asks a question",
  mention: "Somebody mentions you",
  "task.submitted": "A task is ready for review",
  "task.blocked": "A task is blocked",
  "run.failed": "A run ends without a result",
  "budget.warned": "A budget is almost spent",
  "budget.exhausted": "A budget is spent",
  "gateway.down": "A gateway is not connected",
  "agent.silent": "An agent is silent",
  "delivery.dead": "Events cannot be delivered",
  "key.expires_soon": "A key ends soon",
};

const CHANNEL_NAMES: Record<Channel["type"], string> = { email: "E-mail", push: "Browsers", slack: "Slack" };

export const channelName = (type: Channel["type"]): string => CHANNEL_NAMES[type];

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg/, "Edge"],
  [/OPR/, "Opera"],
  [/Firefox|FxiOS/, "Firefox"],
  [/Chrome|CriOS/, "Chrome"],
  [/Safari/, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Mac OS/, "Mac"],
  [/Windows/, "Windows"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

const find = (names: readonly (readonly [RegExp, string])[], other: string) =>
  names.find(([pattern]) => pattern.test(navigator.userAgent))?.[1] ?? other;

/** Returns a name that the person would probably give this browser. */
export const guessBrowserName = (): string => `${find(BROWSERS, "Browser")} on ${find(SYSTEMS, "this device")}`;

/** Checks for an iPhone or iPad, which shows notifications only for pages that were added to its home screen. */
export const needsHomeScreen = (): boolean => /iPhone|iPad/.test(navigator.userAgent) && !("PushManager" in globalThis);
