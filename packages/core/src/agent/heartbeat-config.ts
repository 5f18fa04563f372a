/** Default heartbeat settings of an agent's entry on the host. Each setting that is stored for the agent replaces its default. */
export const DEFAULT_HEARTBEAT = { every: "10m", target: "last", includeReasoning: false };
