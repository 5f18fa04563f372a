import type { GatewayHello } from "@board/core/context/gateways";

/**
 * The differences between host versions that matter for writing to a host (docs/reference/gateways.md#dialects). Waits are in
 * milliseconds.
 */
export interface HostDialect {
  /** Minimum time between two writes to the configuration. Writes that follow each other faster can undo each other. */
  config_write_spacing_ms: number;
  /** The host may lose a write that it acknowledged, so each write is verified in agents.list. */
  loses_writes: boolean;
  /** How long a write may take to become visible to agents.list and agents.update. */
  write_visibility_ms: number;
  /** Deleting an agent in the middle of a run crashes the whole host. */
  crashes_on_deleting_active_agent: boolean;
  /** How long an aborted run may need to end. */
  abort_wait_ms: number;
  /** The host deletes BOOTSTRAP.md when it first processes a workspace in which other files have changed. */
  clears_bootstrap: boolean;
  /** Settings that newer hosts no longer know. Such a host refuses a whole patch that contains one of these settings. */
  unsupported_heartbeat_keys: readonly string[];
  /**
   * The heartbeat target that is written instead of `last`. Newer hosts skip the heartbeats of an agent that has had no message
   * from a channel, unless its target says that nothing is to be delivered.
   */
  last_heartbeat_target: string;
}

const PROTOCOL_3: HostDialect = {
  config_write_spacing_ms: 1_000,
  loses_writes: true,
  write_visibility_ms: 750,
  crashes_on_deleting_active_agent: true,
  abort_wait_ms: 5_000,
  clears_bootstrap: false,
  unsupported_heartbeat_keys: [],
  last_heartbeat_target: "last",
};

const PROTOCOL_4: HostDialect = {
  ...PROTOCOL_3,
  config_write_spacing_ms: 0,
  loses_writes: false,
  crashes_on_deleting_active_agent: false,
  clears_bootstrap: true,
  unsupported_heartbeat_keys: ["includeReasoning"],
  last_heartbeat_target: "none",
};

/**
 * Selects the dialect by the wire protocol alone, because development builds report no version. The layout of a configuration is
 * read from the configuration itself (`config.ts`). Which files a host accepts is found out by writing them (`workspace.ts`).
 */
export function selectDialect({ protocol }: GatewayHello): HostDialect {
  return protocol >= 4 ? PROTOCOL_4 : PROTOCOL_3;
}
