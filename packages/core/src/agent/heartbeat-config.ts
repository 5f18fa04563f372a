/** Default heartbeat settings of a host entry; an agent's stored settings override them key by key. */
export const DEFAULT_HEARTBEAT = { every: "10m", target: "last", includeReasoning: false };
