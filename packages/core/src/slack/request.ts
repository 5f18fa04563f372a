import { eq } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { slack_apps } from "../schema/slack.sql.ts";
import { DomainError } from "../values/errors.ts";
import { slack } from "../webhook/source/slack.ts";
import { verifySignature } from "../webhook/signature.ts";
import { type SlackAppRow, signingSecretOf } from "./app.ts";
import { SlackError } from "./web-api.ts";

/** How many organizations may share a workspace. The signing secrets of further organizations are not tried. */
const MAX_APPS = 20;

/**
 * Returns the apps whose secret signed this request of Slack within the last five minutes (docs/reference/slack.md#requests).
 * Several organizations may use the same app. Throws `forbidden` if there is no such app.
 */
export async function verifyRequest(ctx: Context, headers: Headers, body: Uint8Array, team_id: string): Promise<SlackAppRow[]> {
  const rows = await ctx.db
    .select()
    .from(slack_apps)
    .where(eq(slack_apps.team_id, team_id))
    .orderBy(slack_apps.created_at, slack_apps.organization_id)
    .limit(MAX_APPS);
  const signature = slack.readSignature(headers, null);
  const secrets = rows.map((row) => secretOf(ctx, row));
  verifySignature(
    secrets.filter((secret) => secret !== null),
    signature,
    body,
    ctx.now(),
  );
  if (typeof signature === "string") throw new DomainError("forbidden", "Invalid webhook signature.");
  return rows.filter((_, place) => secrets[place] !== null && signature.matches(secrets[place]!, body));
}

/** Returns the signing secret, or null if it was encrypted with a different key. */
function secretOf(ctx: Context, app: SlackAppRow): string | null {
  try {
    return signingSecretOf(ctx, app);
  } catch (error) {
    if (error instanceof SlackError) return null;
    throw error;
  }
}
