import { GatewayError } from "../wire/gateway-error.ts";
import {
  createEntriesPatch,
  type DesiredEntry,
  isStaleConfigError,
  listRefusedKeys,
  omitKeys,
  replaceLastTarget,
  toHostConfig,
} from "./config.ts";
import type { Host } from "./open.ts";
import type { RetryPolicy } from "../wire/retry.ts";

/** Number of attempts for a patch while other clients change the configuration at the same time. */
const MAX_ATTEMPTS = 3;

/**
 * Writes the settings of the service's agents in one config.patch, if they differ
 * (docs/reference/gateways.md#host-configuration). Returns the keys that the host refuses. Rejects at once if the host asks for a
 * longer wait than the budget. The patch also contains the agents of `findWaiting`, unless the host refuses their settings.
 */
export async function configureEntries(
  host: Host,
  desired: readonly DesiredEntry[],
  findWaiting: () => Promise<readonly DesiredEntry[]> = async () => [],
): Promise<string[]> {
  const { unsupported_heartbeat_keys } = host.dialect;
  /** A dropped key is reported only if an agent has it switched on. */
  const dropped_keys = unsupported_heartbeat_keys.filter((key) => desired.some(({ settings }) => settings.heartbeat?.[key]));
  const toSupported = (entry: DesiredEntry) =>
    replaceLastTarget(omitKeys(entry, unsupported_heartbeat_keys), host.dialect.last_heartbeat_target);
  let entries = desired.map(toSupported);
  let is_alone = false;
  let refused_keys: string[] = [];
  let conflicts = 0;

  /**
   * Returns true when nothing is left to do. Reads and compares the configuration first, because an earlier patch may have been
   * applied although a restart of the host lost the response.
   */
  async function tryOnce(): Promise<boolean> {
    const { hash, config } = toHostConfig(await host.callOnce("config.get", {}));
    if (createEntriesPatch(config, entries) === null) return true;
    const others = is_alone ? [] : (await findWaiting()).map(toSupported);
    const patch = createEntriesPatch(config, [...entries, ...others]);
    try {
      const baseHash = hash === null ? {} : { baseHash: hash };
      await host.callOnce("config.patch", { raw: JSON.stringify(patch), ...baseHash });
      return true;
    } catch (error) {
      if (isStaleConfigError(error) && ++conflicts < MAX_ATTEMPTS) return false;
      if (others.length > 0 && listRefusedKeys(error, [...entries, ...others]).length > 0) {
        is_alone = true;
        return false;
      }
      const refused = refused_keys.length === 0 ? listRefusedKeys(error, entries) : [];
      if (refused.length === 0) throw limitRetryAfter(error, host.policy);
      refused_keys = refused;
      entries = entries.map((entry) => omitKeys(entry, refused));
      return false;
    }
  }

  // Each attempt acquires the lock again, so the delays between attempts do not block other writers.
  await host.retry("config.patch", () =>
    host.withConfigLock(async () => {
      while (!(await tryOnce()));
    }),
  );
  return [...dropped_keys, ...refused_keys];
}

function limitRetryAfter(error: unknown, { total_ms }: RetryPolicy): unknown {
  if (!(error instanceof GatewayError) || (error.failure.retry_after_ms ?? 0) <= total_ms) return error;
  return new GatewayError(error.message, { ...error.failure, retryable: false });
}
