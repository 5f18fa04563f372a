import type { Context } from "../context/context.ts";
import type { JobHandler } from "../job/handler.ts";
import type { SlackReplyPayload } from "../job/kinds.ts";
import { findDecided } from "./decided.ts";
import { answerByUrl } from "./web-api.ts";

/**
 * Answers a pressed button. Replaces the message with the decision, or tells only the person who pressed it why nothing was
 * decided.
 */
export const replyToSlack: JobHandler<"slack.reply"> = {
  async run(ctx, payload, { secret: url }) {
    if (url === null) return;
    await answerByUrl(ctx, url, payload.organization_id, await toReply(ctx, payload));
  },
};

async function toReply(ctx: Context, payload: SlackReplyPayload): Promise<object> {
  const { service_url } = ctx.settings;
  if (payload.outcome === "not_linked")
    return toNote(`Your Slack user is not linked to your account here. Link it in the console, or decide there: ${service_url}`);
  if (payload.outcome === "not_valid")
    return toNote(`This button is not valid any more. The console shows what waits: ${service_url}`);
  const decided = await findDecided(ctx, payload);
  return decided ? { replace_original: true, ...decided } : toNote("This approval does not exist any more.");
}

const toNote = (text: string) => ({ response_type: "ephemeral", replace_original: false, text });
