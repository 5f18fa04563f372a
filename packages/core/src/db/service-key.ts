import { eq } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { service_keys } from "../schema/service-key.sql.ts";
import { seal, unseal } from "../values/seal.ts";

type KeyContext = Pick<Context, "db" | "settings">;

/** Finds a key that the service generated. Returns null if it has not been generated yet. */
export async function findServiceKey({ db, settings }: KeyContext, name: string): Promise<string | null> {
  const [row] = await db.select({ value: service_keys.value_sealed }).from(service_keys).where(eq(service_keys.name, name));
  return row ? unseal(settings.encryption_key, row.value) : null;
}

/**
 * Returns a key that the service generates when it first needs the key. The key is stored encrypted in the database, so that it
 * survives redeployments and is the same in every process.
 */
export async function getOrCreateServiceKey(ctx: KeyContext, name: string, create: () => string): Promise<string> {
  const stored = await findServiceKey(ctx, name);
  if (stored !== null) return stored;
  // Two processes may insert at the same time: the first insert wins, and both read its key.
  await ctx.db
    .insert(service_keys)
    .values({ name, value_sealed: seal(ctx.settings.encryption_key, create()) })
    .onConflictDoNothing();
  return (await findServiceKey(ctx, name))!;
}
