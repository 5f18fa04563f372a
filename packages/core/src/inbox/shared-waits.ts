import { and, eq, gt, inArray, lt, ne, sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { inbox_waits } from "../schema/inbox-wait.sql.ts";
import { DomainError } from "../values/errors.ts";
import { errorText } from "../values/log.ts";
import { usedUp } from "../values/request-limits.ts";

const RETRY_SECONDS = 30;
/** How much longer a row is valid than the longest possible request. So only rows of crashed processes expire. */
const GRACE_SECONDS = 10;

export const tooManyWaits = (max: number) =>
  new DomainError("limited", "Too many agents of this organization are waiting for work. Omit `wait` or try again later.", {
    retry_after_seconds: RETRY_SECONDS,
    limit: usedUp("inbox_waits_per_organization", max, RETRY_SECONDS),
  });

/**
 * Returns whether waits are counted over all processes. An embedded database has only one process. In functions, each wait occupies
 * a process, so the number of processes limits the waits.
 */
export const isShared = ({ settings }: Pick<Context, "settings">): boolean => settings.database.driver === "postgres";

/** Stores a wait, which replaces the agent's earlier wait. Throws `limited` if the organization has too many waits. */
export async function storeWait(ctx: Context<Agent>, { id, ms }: { id: string; ms: number }): Promise<void> {
  const { agent_id, organization_id } = ctx.actor;
  const max = ctx.settings.budgets.inbox_waits_per_organization;
  await transaction(ctx, async (ctx) => {
    if (max > 0) {
      await ctx.db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`waits of ${organization_id}`}, 0))`);
      const others = await ctx.db.$count(
        inbox_waits,
        and(
          eq(inbox_waits.organization_id, organization_id),
          ne(inbox_waits.agent_id, agent_id),
          gt(inbox_waits.expires_at, sql`clock_timestamp()`),
        ),
      );
      if (others >= max) throw tooManyWaits(max);
    }
    const seconds = ms / 1000 + GRACE_SECONDS;
    const row = {
      organization_id,
      request_id: id,
      expires_at: sql`clock_timestamp() + make_interval(secs => ${seconds}::double precision)`,
    };
    await ctx.db
      .insert(inbox_waits)
      .values({ agent_id, ...row })
      .onConflictDoUpdate({ target: inbox_waits.agent_id, set: row });
  });
}

/** Returns the ids of the waits that were replaced by a request to another process. */
export async function listReplacedIds(ctx: Context, waits: readonly { id: string }[]): Promise<string[]> {
  const ids = waits.map(({ id }) => id);
  const rows = await ctx.db.select({ id: inbox_waits.request_id }).from(inbox_waits).where(inArray(inbox_waits.request_id, ids));
  const kept = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !kept.has(id));
}

/** Removes a wait. Never rejects: a row that could not be removed expires later. */
export async function removeWait(ctx: Context, id: string): Promise<void> {
  await ctx.db
    .delete(inbox_waits)
    .where(eq(inbox_waits.request_id, id))
    .catch((error: unknown) => ctx.log.warn("inbox.wait_not_removed", errorText(error)));
}

/** Removes the rows that crashed processes left. */
export async function removeExpiredWaits(ctx: Context): Promise<void> {
  await ctx.db.delete(inbox_waits).where(lt(inbox_waits.expires_at, sql`clock_timestamp()`));
}
