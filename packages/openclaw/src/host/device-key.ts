import type { Context } from "@board/core/context/context";
import { findServiceKey, getOrCreateServiceKey } from "@board/core/db/service-key";
import { createDeviceKey, type Device, loadDevice } from "../wire/device.ts";

const KEY_NAME = "gateway-device";

/** Returns the service's device identity, or null when none has been created yet. */
export async function findDevice(ctx: Pick<Context, "db" | "settings">): Promise<Device | null> {
  const stored = await findServiceKey(ctx, KEY_NAME);
  return stored === null ? null : loadDevice(stored);
}

/** Returns the device identity, which a host's operator approves once. It is created on first use. */
export const getOrCreateDevice = async (ctx: Pick<Context, "db" | "settings">): Promise<Device> =>
  loadDevice(await getOrCreateServiceKey(ctx, KEY_NAME, createDeviceKey));
