import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { addChannel } from "../channel/channel.ts";
import { useOnce } from "../channel/decision.ts";
import { parseLink, signLink } from "../channel/signed-link.ts";
import type { Member, User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { organization_members } from "../schema/organization.sql.ts";
import { DomainError } from "../values/errors.ts";
import { MINUTE_MS } from "../values/time.ts";
import { truncate } from "../values/text.ts";
import { Instant, lazyObject, oneLine } from "../values/wire.ts";
import { findSlackApp, type SlackAppRow } from "./app.ts";
import type { SlackAddress } from "./channel.ts";

const VALID_MS = 10 * MINUTE_MS;
const MAX_NAME = 100;
/** The app's command, as defined in docs/slack-manifest.json. */
const COMMAND = "/board";

export const SlackLink = lazyObject(() => ({
  command: z.string().describe("What to send in Slack, in any conversation: only the app sees it."),
  expires_at: Instant.describe("Until when it counts. It counts once."),
})).meta({ id: "SlackLink", description: "How a person links their Slack user." });
export type SlackLink = z.infer<typeof SlackLink>;

/**
 * Creates the command with which a person links a Slack user. The person copies the command to Slack. A link from Slack to the
 * console would not be safe: its receiver could forward it, and a person who opened it would let the receiver decide in their
 * name.
 */
export async function createSlackLink(ctx: Context<Member>): Promise<SlackLink> {
  const { user_id, active } = ctx.actor;
  const { organization_id } = active;
  if (!(await findSlackApp(ctx, organization_id)))
    throw new DomainError("conflict", "The organization has no Slack app. An admin has to connect it first.");
  const expires = ctx.now().getTime() + VALID_MS;
  const token = signLink(ctx, { for: "slack", id: crypto.randomUUID(), organization_id, user_id, expires });
  return { command: `${COMMAND} link ${token}`, expires_at: new Date(expires).toISOString() };
}

interface SlackUser extends SlackAddress {
  user_name: string;
}

/** Links a Slack user to the person who created the command. Returns whether the command was valid. */
export async function linkSlackUser(ctx: Context, app: SlackAppRow, token: string, slack_user: SlackUser): Promise<boolean> {
  const claims = parseLink(ctx, "slack", token);
  const { organization_id } = app;
  if (!claims || claims.organization_id !== organization_id || claims.expires < ctx.now().getTime()) return false;
  const { user_id } = claims;
  return transaction(ctx, async (ctx) => {
    if (!(await useOnce(ctx, claims.id)) || !(await isMember(ctx, organization_id, user_id))) return false;
    const actor: User = { type: "user", user_id, display_name: "User", active: null };
    const address: SlackAddress = { team_id: slack_user.team_id, user_id: slack_user.user_id };
    const name = truncate(oneLine(`${slack_user.user_name} in ${app.team_name}`), MAX_NAME);
    const identity = toIdentity(organization_id, address);
    await addChannel({ ...ctx, actor }, { type: "slack", name, identity, address: JSON.stringify(address), organization_id });
    return true;
  });
}

/** Returns the identity of the channel, which is unique. So within an organization, a Slack user is linked to only one person. */
export const toIdentity = (organization_id: string, { team_id, user_id }: SlackAddress): string =>
  [organization_id, team_id, user_id].join(":");

async function isMember(ctx: Context, organization_id: string, user_id: string): Promise<boolean> {
  const [row] = await ctx.db
    .select({ id: organization_members.id })
    .from(organization_members)
    .where(and(eq(organization_members.organization_id, organization_id), eq(organization_members.user_id, user_id)));
  return row !== undefined;
}
