import { and, eq } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { agents } from "../schema/agent.sql.ts";
import { toStoredToken, tokenLookup } from "./token.ts";

/** Thrown when the work for an agent is obsolete, because the agent was removed or has a later generation. */
export class Superseded extends Error {
  constructor() {
    super("The agent was removed or moved in the meantime.");
    this.name = "Superseded";
  }
}

/**
 * Replaces an agent's token. Call it once the host has the new token; the old token works until then. Nothing is written if the
 * token is already stored. Throws Superseded if the agent no longer has this generation.
 */
export async function replaceToken(
  ctx: Context,
  { id, lifecycle_generation }: { id: string; lifecycle_generation: number },
  token: string,
): Promise<void> {
  const current = and(eq(agents.id, id), eq(agents.lifecycle_generation, lifecycle_generation));
  const [stored] = await ctx.db.select({ lookup: agents.agent_token_lookup }).from(agents).where(current);
  if (stored?.lookup === tokenLookup(ctx.settings.token_pepper, token)) return;
  const changes = { ...(await toStoredToken(ctx.settings.token_pepper, token)), ...changedNow };
  const replaced = stored ? await ctx.db.update(agents).set(changes).where(current).returning({ id: agents.id }) : [];
  if (replaced.length === 0) throw new Superseded();
}
