import { createHash } from "node:crypto";
import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { previewDecision, useDecision } from "../channel/decision.ts";
import { parseLink } from "../channel/signed-link.ts";
import { type Context, transaction } from "../context/context.ts";
import { enqueue } from "../job/job.ts";
import type { SlackReplyPayload } from "../job/kinds.ts";
import { channels } from "../schema/channel.sql.ts";
import { DomainError, InvalidInput } from "../values/errors.ts";
import { lazyObject } from "../values/wire.ts";
import type { SlackAppRow } from "./app.ts";
import { countOpenDecisions } from "./decision-messages.ts";
import { linkSlackUser, toIdentity } from "./link.ts";
import { OPTION_ACTION } from "./message.ts";
import { verifyRequest } from "./request.ts";

const Text = (max: number) => z.string().max(max);
/** Slack's ids of workspaces and users. */
const SlackId = z.string().regex(/^[A-Z0-9]{1,50}$/);

const Interaction = z.object({
  type: Text(100),
  team: z.object({ id: SlackId }),
  user: z.object({ id: SlackId }),
  response_url: Text(2_000).optional(),
  container: z
    .object({ channel_id: Text(100), message_ts: Text(100) })
    .optional()
    .catch(undefined),
  actions: z
    .array(z.object({ action_id: Text(255), value: Text(2_000).optional() }))
    .max(25)
    .optional(),
});

const REPLY_ORIGIN = "https://hooks.slack.com";

/**
 * Handles a pressed button. The decision has the same effects as a decision on any other channel. Slack does not show the response
 * of this request, so a job replaces the message.
 */
export async function handleInteraction(ctx: Context, headers: Headers, body: Uint8Array): Promise<void> {
  const sent = parse(new URLSearchParams(Buffer.from(body).toString("utf8")).get("payload"));
  const apps = await verifyRequest(ctx, headers, body, sent?.team.id ?? "");
  const action = sent?.type === "block_actions" ? sent.actions?.[0] : undefined;
  // Slack also reports a press of a button that only opens a page.
  if (!sent || action?.value === undefined || action.action_id === "open") return;
  const { action_id, value: token } = action;
  const claims = parseLink(ctx, "decision", token);
  if (!claims) return;
  const { board_id, approval_id } = claims;
  const linked = await findLinked(ctx, apps, { team_id: sent.team.id, user_id: sent.user.id }, claims.user_id);
  const reply = (ctx: Context, outcome: SlackReplyPayload["outcome"], { organization_id }: SlackAppRow) =>
    enqueueReply(ctx, { organization_id, board_id, approval_id, outcome }, sent.response_url);
  if (!linked) return transaction(ctx, (ctx) => reply(ctx, "not_linked", apps[0]!));
  const decision = await toDecision(ctx, action_id, token);
  if (!decision) return transaction(ctx, (ctx) => reply(ctx, "not_valid", linked));
  try {
    await transaction(ctx, async (ctx) => {
      await useDecision(ctx, decision);
      // If the message has other decisions, their buttons must stay, so the job `slack.update` replaces only the part that was
      // decided.
      if (!(await isShared(ctx, linked, sent.container))) await reply(ctx, "decided", linked);
    });
  } catch (error) {
    if (!(error instanceof DomainError || error instanceof InvalidInput)) throw error;
    await transaction(ctx, (ctx) => reply(ctx, "not_valid", linked));
  }
}

async function isShared(ctx: Context, { organization_id }: SlackAppRow, container: Container | undefined): Promise<boolean> {
  if (!container) return false;
  const { channel_id: conversation, message_ts: ts } = container;
  return (await countOpenDecisions(ctx, organization_id, { conversation, ts })) > 1;
}
type Container = NonNullable<z.infer<typeof Interaction>["container"]>;

function parse(text: string | null): z.infer<typeof Interaction> | undefined {
  try {
    return Interaction.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}

/** Finds the app of the organization in which this Slack user is linked to this person. */
async function findLinked(
  ctx: Context,
  apps: readonly SlackAppRow[],
  slack_user: { team_id: string; user_id: string },
  user_id: string,
) {
  for (const app of apps) {
    const address_digest = createHash("sha256").update(toIdentity(app.organization_id, slack_user)).digest("base64url");
    const [found] = await ctx.db
      .select({ id: channels.id })
      .from(channels)
      .where(and(eq(channels.type, "slack"), eq(channels.address_digest, address_digest), eq(channels.user_id, user_id)));
    if (found) return app;
  }
  return undefined;
}

/** Returns what a button decides, or null if its token is no longer valid. */
async function toDecision(ctx: Context, action_id: string, token: string): Promise<Parameters<typeof useDecision>[1] | null> {
  if (action_id === "approved" || action_id === "rejected") return { token, status: action_id };
  const [, place] = OPTION_ACTION.exec(action_id) ?? [];
  if (place === undefined) return null;
  try {
    const option = (await previewDecision(ctx, token)).question?.options[Number(place)];
    return option === undefined ? null : { token, status: "approved", answer: { option, text: null } };
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Enqueues an answer if the address is one of Slack's. Any other address in a request is ignored. */
async function enqueueReply(ctx: Context, payload: SlackReplyPayload, url: string | undefined) {
  if (url === undefined || !URL.canParse(url) || new URL(url).origin !== REPLY_ORIGIN) return;
  await enqueue(ctx, "slack.reply", payload, { organization_id: payload.organization_id, secret: url });
}

export const CommandReply = lazyObject(() => ({
  response_type: z.literal("ephemeral").describe("Only the person sees it."),
  text: z.string().describe("What the person sees."),
})).meta({ id: "SlackCommandReply", description: "The answer to a command in Slack." });
export type CommandReply = z.infer<typeof CommandReply>;

const Command = z.object({
  team_id: SlackId,
  user_id: SlackId,
  user_name: Text(200).default("Slack"),
  text: Text(2_000),
});
const HELP = "Make a command in the console, under Notifications, and send it here: /board link …";

/** Handles a command that a person sent to the app. There is only one command, which links the person's Slack user. */
export async function handleCommand(ctx: Context, headers: Headers, body: Uint8Array): Promise<CommandReply> {
  const form = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString("utf8")));
  const sent = Command.safeParse(form).data;
  const apps = await verifyRequest(ctx, headers, body, sent?.team_id ?? "");
  const [, token] = /^\s*link\s+(\S+)\s*$/.exec(sent?.text ?? "") ?? [];
  if (!sent || token === undefined) return toReply(HELP);
  for (const app of apps)
    if (await linkSlackUser(ctx, app, token, sent))
      return toReply("Your Slack user is linked. Decisions and news of your boards arrive here.");
  return toReply("This command is not valid any more. Make another one in the console, under Notifications.");
}

const toReply = (text: string): CommandReply => ({ response_type: "ephemeral", text });
