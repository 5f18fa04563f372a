import type { GatewayHello } from "./client.ts";

/** What differs between hosts in how they are written to. All of it stands in this table; waits are in milliseconds. */
export interface HostDialect {
  /** Between two writes to the configuration: closer ones can undo each other. */
  config_write_spacing_ms: number;
  /** A write that was answered may be lost all the same, so that it is looked for in agents.list. */
  loses_writes: boolean;
  /** How long a host may need before agents.list and agents.update know of a write. */
  settle_ms: number;
  /** An agent that is deleted in the middle of a run takes the whole host with it. */
  dies_of_deleting_runs: boolean;
  /** How long a run that was aborted may need to end. */
  abort_ms: number;
  /** A workspace loses its BOOTSTRAP.md when the host first looks after it and finds that others of its files were changed. */
  clears_bootstrap: boolean;
  /** Settings that hosts have given up, and refuse a whole patch for. */
  unknown_heartbeat_keys: readonly string[];
}

const THIRD: HostDialect = {
  config_write_spacing_ms: 1_000,
  loses_writes: true,
  settle_ms: 750,
  dies_of_deleting_runs: true,
  abort_ms: 5_000,
  clears_bootstrap: false,
  unknown_heartbeat_keys: [],
};

const FOURTH: HostDialect = {
  ...THIRD,
  config_write_spacing_ms: 0,
  loses_writes: false,
  dies_of_deleting_runs: false,
  clears_bootstrap: true,
  unknown_heartbeat_keys: ["includeReasoning"],
};

/**
 * By the wire protocol alone: development builds say no version. The layout of a configuration is taken from the
 * configuration itself (`config.ts`), and which files a host takes is found by writing them (`workspace.ts`).
 */
export function dialectOf({ protocol }: GatewayHello): HostDialect {
  return protocol >= 4 ? FOURTH : THIRD;
}
