import { eq } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../audit/record.ts";
import { slackUpdateJob } from "../approval/shown-decisions.ts";
import { removeChannelsOf } from "../channel/channel.ts";
import type { Admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { enqueueAll } from "../job/job.ts";
import { slack_apps } from "../schema/slack.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { seal, unseal } from "../values/seal.ts";
import { truncate } from "../values/text.ts";
import { Instant, lazyObject, MAX_NAME, MAX_SECRET, oneLine, valueError } from "../values/wire.ts";
import { callSlack, SlackError } from "./web-api.ts";

export const SlackApp = lazyObject(() => ({
  team_id: z.string().describe("Slack's id of the workspace."),
  team_name: z.string().describe("Name of the workspace."),
  last_error: z.string().nullable().describe("Why Slack did not accept the app the last time; null if it did."),
  retry_at: Instant.nullable().describe("Nothing is sent before then; null if nothing waits."),
  created_at: Instant.describe("When the app was connected."),
})).meta({ id: "SlackApp", description: "The Slack app of an organization. Its secrets are never shown." });
export type SlackApp = z.infer<typeof SlackApp>;

export const ConnectSlack = lazyObject(() => ({
  bot_token: z
    .string()
    .trim()
    .regex(/^xoxb-[\w-]+$/, valueError("bot_token must begin with xoxb-"))
    .max(MAX_SECRET)
    .describe("The token of the app's user: the page OAuth & Permissions of the app shows it."),
  signing_secret: z
    .string()
    .trim()
    .regex(/^[0-9a-f]{32,128}$/i, valueError("signing_secret must be hex digits"))
    .describe("The secret with which Slack signs its requests: the page Basic Information of the app shows it."),
})).meta({ id: "SlackConnect" });
export type ConnectSlack = z.infer<typeof ConnectSlack>;

export type SlackAppRow = typeof slack_apps.$inferSelect;

/** Finds the app of an organization. Returns null if there is none. */
export async function findSlackApp(ctx: Context, organization_id: string): Promise<SlackAppRow | null> {
  const [row] = await ctx.db.select().from(slack_apps).where(eq(slack_apps.organization_id, organization_id));
  return row ?? null;
}

export async function getSlackApp(ctx: Context<Admin>): Promise<SlackApp> {
  const row = await findSlackApp(ctx, ctx.actor.active.organization_id);
  if (!row) throw notFound();
  return toSlackApp(row);
}

const Identity = z.object({ team_id: z.string().min(1).max(100), team: z.string(), user_id: z.string().min(1).max(100) });

/** Connects the app that an admin has created in a workspace, or replaces its secrets. Slack returns the workspace of the token. */
export async function connectSlack(ctx: Context<Admin>, { bot_token, signing_secret }: ConnectSlack): Promise<SlackApp> {
  const { organization_id } = ctx.actor.active;
  const { team_id, team, user_id } = await identify(ctx, organization_id, bot_token);
  const key = ctx.settings.encryption_key;
  const values = {
    team_id,
    team_name: truncate(oneLine(team), MAX_NAME),
    bot_user_id: user_id,
    bot_token_sealed: seal(key, bot_token),
    signing_secret_sealed: seal(key, signing_secret),
    retry_at: null,
    last_error: null,
  };
  return transaction(ctx, async (ctx) => {
    const [before] = await ctx.db.select().from(slack_apps).where(eq(slack_apps.organization_id, organization_id)).for("update");
    // A person has a different Slack user in each workspace, so people must link again.
    if (before && before.team_id !== team_id) await removeChannelsOf(ctx, organization_id, "slack");
    const [row] = await ctx.db
      .insert(slack_apps)
      .values({ organization_id, ...values })
      .onConflictDoUpdate({ target: slack_apps.organization_id, set: values })
      .returning();
    const app = toSlackApp(row!);
    await enqueueAll(ctx, [slackUpdateJob(organization_id)]);
    await recordAudit(ctx, "slack.connected", { organization_id, target: toTarget(row!) });
    await ctx.recordAnswer?.(ctx, app);
    return app;
  });
}

async function identify(ctx: Context, organization_id: string, token: string): Promise<z.infer<typeof Identity>> {
  try {
    return Identity.parse(await callSlack(ctx, "auth.test", { organization_id, token, body: {} }));
  } catch (error) {
    if (error instanceof SlackError) throw new DomainError("invalid", `The token was not accepted. ${error.message}`);
    if (error instanceof z.ZodError) throw new DomainError("invalid", "The token does not belong to an app in a workspace.");
    throw error;
  }
}

/** Disconnects the app of the organization, and removes its people's links to Slack users. */
export async function removeSlackApp(ctx: Context<Admin>): Promise<void> {
  const { organization_id } = ctx.actor.active;
  await transaction(ctx, async (ctx) => {
    const [row] = await ctx.db.delete(slack_apps).where(eq(slack_apps.organization_id, organization_id)).returning();
    if (!row) throw notFound();
    await removeChannelsOf(ctx, organization_id, "slack");
    await recordAudit(ctx, "slack.removed", { organization_id, target: toTarget(row) });
  });
}

const toTarget = ({ team_name }: SlackAppRow) => ({ id: null, name: team_name });

/** Returns the token of an app. Throws a `SlackError` if the token was encrypted with a different key. */
export const tokenOf = (ctx: Context, app: SlackAppRow): string => open(ctx, app.bot_token_sealed);
export const signingSecretOf = (ctx: Context, app: SlackAppRow): string => open(ctx, app.signing_secret_sealed);

function open({ settings }: Context, sealed: Uint8Array): string {
  try {
    return unseal(settings.encryption_key, sealed);
  } catch {
    throw new SlackError("The secrets of the app cannot be read, because ENCRYPTION_KEY has changed. Connect it again.", "app");
  }
}

/** Stops sending through the app until `retry_at`. */
export async function pauseSlackApp(ctx: Context, organization_id: string, last_error: string, retry_at: Date): Promise<void> {
  await ctx.db.update(slack_apps).set({ last_error, retry_at }).where(eq(slack_apps.organization_id, organization_id));
}

export async function resumeSlackApp(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db
    .update(slack_apps)
    .set({ last_error: null, retry_at: null })
    .where(eq(slack_apps.organization_id, organization_id));
}

const toSlackApp = ({ team_id, team_name, last_error, retry_at, created_at }: SlackAppRow): SlackApp => ({
  team_id,
  team_name,
  last_error,
  retry_at: retry_at?.toISOString() ?? null,
  created_at: created_at.toISOString(),
});
