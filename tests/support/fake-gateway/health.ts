import { agentsOf } from "./config.ts";
import type { Host, Method } from "./host.ts";
import { anyScope, readScope } from "./host.ts";
import { anyValue, shape } from "./validators.ts";

/** Returns the payload of `health`, which every client also receives as an event after connecting. */
export function health(host: Host): object {
  const agents = agentsOf(host.config.runtime(), host.dialect).map(({ id }) => ({ agentId: id, isDefault: id === "main" }));
  const sessions = { path: "(multiple)", count: host.sessions.size, recent: [] };
  const channels = { channels: {}, channelOrder: [], channelLabels: {} };
  return {
    ok: true,
    ts: Date.now(),
    durationMs: 0,
    ...channels,
    heartbeatSeconds: 1800,
    defaultAgentId: "main",
    agents,
    sessions,
  };
}

export const healthMethods: Record<string, Method> = {
  health: { params: () => anyValue, scope: anyScope, run: health },
  status: {
    params: () => shape({}),
    scope: readScope,
    run: (host) => ({
      ...(host.dialect.issues_in_text ? { runtimeVersion: host.version } : {}),
      heartbeat: {
        defaultAgentId: "main",
        agents: agentsOf(host.config.runtime(), host.dialect).map(({ id }) => ({ agentId: id })),
      },
      channelSummary: [],
      queuedSystemEvents: [],
      sessions: { paths: [], count: host.sessions.size, recent: [], byAgent: [] },
    }),
  },
};
