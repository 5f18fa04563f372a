import { eq } from "drizzle-orm";
import type { Context } from "@board/core/context/context";
import { seal, unseal } from "@board/core/values/seal";
import { createDeviceKey, type Device, loadDevice } from "../wire/device.ts";
import { service_keys } from "@board/core/schema/service-key.sql";

const KEY_NAME = "gateway-device";

/** The service's device identity, or null when none has been created yet. */
export async function findDevice(ctx: Pick<Context, "db" | "settings">): Promise<Device | null> {
  const stored = await findKey(ctx);
  return stored ? loadDevice(unseal(ctx.settings.encryption_key, stored)) : null;
}

/**
 * The device identity that a host's operator approves once. It is created on first use and stored sealed in the database,
 * so that it survives redeployments and is the same in every process.
 */
export async function getOrCreateDevice(ctx: Pick<Context, "db" | "settings">): Promise<Device> {
  const key = ctx.settings.encryption_key;
  const stored = await findKey(ctx);
  if (stored) return loadDevice(unseal(key, stored));
  // Two processes may insert at the same time: the first insert wins, and both read its key.
  await ctx.db
    .insert(service_keys)
    .values({ name: KEY_NAME, value_sealed: seal(key, createDeviceKey()) })
    .onConflictDoNothing();
  return loadDevice(unseal(key, (await findKey(ctx))!));
}

async function findKey(ctx: Pick<Context, "db">): Promise<Uint8Array | undefined> {
  const [row] = await ctx.db
    .select({ value: service_keys.value_sealed })
    .from(service_keys)
    .where(eq(service_keys.name, KEY_NAME));
  return row?.value;
}
