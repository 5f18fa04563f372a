import { eq } from "drizzle-orm";
import type { Context } from "../context.ts";
import { service_keys } from "../db/operations.sql.ts";
import { seal, unseal } from "../seal.ts";
import { createDevice, type Device, openDevice } from "./device.ts";

const NAME = "gateway-device";

/** The service's device identity, when it has one already; makes none. */
export async function findDevice(ctx: Pick<Context, "db" | "settings">): Promise<Device | null> {
  const stored = await readKey(ctx);
  return stored ? openDevice(unseal(ctx.settings.encryption_key, stored)) : null;
}

/**
 * The device identity that hosts approve once. Made on first use and kept sealed in the database, so that it survives a
 * redeployment and is the same in every process.
 */
export async function readDevice(ctx: Pick<Context, "db" | "settings">): Promise<Device> {
  const key = ctx.settings.encryption_key;
  const stored = await readKey(ctx);
  if (stored) return openDevice(unseal(key, stored));
  // Two processes may come here at once: the first insert wins, both read what it wrote.
  await ctx.db
    .insert(service_keys)
    .values({ name: NAME, value_sealed: seal(key, createDevice()) })
    .onConflictDoNothing();
  return openDevice(unseal(key, (await readKey(ctx))!));
}

async function readKey(ctx: Pick<Context, "db">): Promise<Uint8Array | undefined> {
  const [row] = await ctx.db.select({ value: service_keys.value_sealed }).from(service_keys).where(eq(service_keys.name, NAME));
  return row?.value;
}
