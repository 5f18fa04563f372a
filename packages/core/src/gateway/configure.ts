import { GatewayError } from "./client.ts";
import { entriesPatch, isStale, refusedKeys, toHostConfig, type WantedEntry, withoutKeys } from "./config.ts";
import type { Host } from "./host.ts";
import type { RetryPolicy } from "./retry.ts";

/** How often a patch is tried while others write to the configuration at the same time. */
const MAX_TRIES = 3;

/**
 * Gives our agents their settings on a host with one config.patch, and none when they have them (contract gateways.md §11).
 * A restart may swallow the answer, so that every try reads first and compares. Returns the keys that the host refuses and
 * that were left out. A wait that the host asks for beyond the whole budget is the caller's: it rejects at once.
 */
export async function configureEntries(host: Host, wanted: readonly WantedEntry[]): Promise<string[]> {
  const { unknown_heartbeat_keys } = host.dialect;
  /** Of these only what is switched on is missed. */
  const missed = unknown_heartbeat_keys.filter((key) => wanted.some(({ settings }) => settings.heartbeat?.[key]));
  let entries = wanted.map((entry) => withoutKeys(entry, unknown_heartbeat_keys));
  let left_out: string[] = [];
  let conflicts = 0;

  /** True when there is nothing left to do. */
  async function tryOnce(): Promise<boolean> {
    const { hash, config } = toHostConfig(await host.callOnce("config.get", {}));
    const patch = entriesPatch(config, entries);
    if (patch === null) return true;
    try {
      const baseHash = hash === null ? {} : { baseHash: hash };
      await host.callOnce("config.patch", { raw: JSON.stringify(patch), ...baseHash });
      return true;
    } catch (error) {
      if (isStale(error) && ++conflicts < MAX_TRIES) return false;
      const refused = left_out.length === 0 ? refusedKeys(error, entries) : [];
      if (refused.length === 0) throw withinBudget(error, host.policy);
      left_out = refused;
      entries = entries.map((entry) => withoutKeys(entry, refused));
      return false;
    }
  }

  // A turn for each try: what the host wants to be waited for is waited for outside of it.
  await host.repeat("config.patch", () =>
    host.inTurn(async () => {
      while (!(await tryOnce()));
    }),
  );
  return [...missed, ...left_out];
}

function withinBudget(error: unknown, { total_ms }: RetryPolicy): unknown {
  if (!(error instanceof GatewayError) || (error.failure.retry_after_ms ?? 0) <= total_ms) return error;
  return new GatewayError(error.message, { ...error.failure, retryable: false });
}
