import { and, eq } from "drizzle-orm";
import type { Context } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { agents } from "./agent.sql.ts";
import { storedToken, tokenLookup } from "./token.ts";

/** What was being done for an agent is overtaken: it is gone, or lives somewhere else by now. */
export class Superseded extends Error {
  constructor() {
    super("The agent was removed or moved in the meantime.");
    this.name = "Superseded";
  }
}

/**
 * Makes a token the one that an agent is known by, once its host has it: until then the old one goes on working. Nothing
 * is written when it is known by it already. Throws Superseded when the agent is not of this generation any more.
 */
export async function replaceToken(
  ctx: Context,
  { id, lifecycle_generation }: { id: string; lifecycle_generation: number },
  token: string,
): Promise<void> {
  const current = and(eq(agents.id, id), eq(agents.lifecycle_generation, lifecycle_generation));
  const [known] = await ctx.db.select({ lookup: agents.agent_token_lookup }).from(agents).where(current);
  if (known?.lookup === tokenLookup(ctx.settings.token_pepper, token)) return;
  const stored = await storedToken(ctx.settings.token_pepper, token);
  const changes = { ...stored, ...changedNow };
  const replaced = known ? await ctx.db.update(agents).set(changes).where(current).returning({ id: agents.id }) : [];
  if (replaced.length === 0) throw new Superseded();
}
