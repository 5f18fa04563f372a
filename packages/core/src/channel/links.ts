import type { Context } from "../context/context.ts";
import { signDecision } from "./decision.ts";
import type { Due } from "./kind.ts";
import type { ItemLinks } from "./message.ts";

/** The links of a message: where its person decides, if there is something to decide, and its place in the console. */
export function linksOf(ctx: Context, due: Pick<Due, "approval" | "subject_id" | "board_id" | "task_id" | "user_id">): ItemLinks {
  const { service_url } = ctx.settings;
  const { approval, subject_id, board_id, task_id, user_id } = due;
  const place = board_id === null ? "" : `?board=${board_id}${task_id === null ? "" : `&task=${task_id}`}`;
  const token = approval && board_id ? signDecision(ctx, { approval_id: subject_id, board_id, user_id }) : null;
  return { decide_url: token && `${service_url}/decide?token=${token}`, open_url: `${service_url}/${place}` };
}
