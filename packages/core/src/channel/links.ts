import type { Context } from "../context/context.ts";
import { signDecision } from "./decision.ts";
import type { Due } from "./kind.ts";
import type { ItemLinks } from "./message.ts";

export type Linked = Pick<Due, "approval" | "subject_id" | "board_id" | "task_id" | "user_id" | "organization_id">;

/**
 * Returns the links of a message: one to a page in the console and, if there is something to decide, one to the page on which the
 * person decides.
 */
export function linksOf(ctx: Context, due: Linked): ItemLinks {
  const token = decisionTokenOf(ctx, due);
  return { decide_url: token && toDecideLink(ctx, token), open_url: toConsoleLink(ctx, due) };
}

/** Returns the token with which the person of a notification decides; null if there is nothing to decide. */
export function decisionTokenOf(
  ctx: Context,
  { approval, subject_id, board_id, user_id }: Linked,
  sent_at = ctx.now(),
): string | null {
  return approval && board_id ? signDecision(ctx, { approval_id: subject_id, board_id, user_id, sent_at }) : null;
}

/** Returns the address of the page on which the person with a token decides. */
export const toDecideLink = ({ settings }: Pick<Context, "settings">, token: string): string =>
  `${settings.service_url}/decide?token=${token}`;

/** Returns the address of a page in the console. It names the organization, because another organization may be active there. */
export function toConsoleLink(
  { settings }: Pick<Context, "settings">,
  { organization_id, board_id, task_id }: Pick<Linked, "organization_id" | "board_id" | "task_id">,
): string {
  const view = board_id === null ? "inbox" : `boards/${board_id}${task_id === null ? "" : `/tasks/${task_id}`}`;
  return `${settings.service_url}/#/${view}?organization=${organization_id}`;
}
