import { agents } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { expect } from "vitest";
import type { Answer, CallOptions } from "../support/http.ts";
import type { NewAgent } from "../support/provisioning.ts";
import type { Tenant, World } from "../support/world.ts";

type AgentRow = typeof agents.$inferSelect;

/** Creates and changes agents as a tenant's owner, and reads their rows. */
export function manageAgents(world: World, { owner: { token }, gateway_id }: Tenant) {
  const create = async (path: string, body: object) => {
    const created = await world.call("POST", path, { token, body });
    expect([created.status, created.body], path).toEqual([200, expect.anything()]);
    return created.body;
  };
  return {
    /** Adds a gateway whose host is unreachable. */
    addGateway: async (): Promise<string> =>
      (await create("/api/v1/gateways", { name: "Unreachable", url: "ws://127.0.0.1:9", workspace_root: "/srv" })).id,
    addBoard: async (changed: object = {}): Promise<string> =>
      (await create("/api/v1/boards", { name: "B", description: "B", gateway_id, max_agents: 9, ...changed })).id,
    addAgent: (body: object): Promise<NewAgent> => create("/api/v1/agents", body),
    patch: (id: string, body: object, query = "", options: CallOptions = { token }): Promise<Answer> =>
      world.call("PATCH", `/api/v1/agents/${id}${query}`, { ...options, body }),
    row: async (id: string): Promise<AgentRow> => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!,
    mainOf: async (of: string): Promise<AgentRow | undefined> =>
      (
        await world.db
          .select()
          .from(agents)
          .where(and(eq(agents.gateway_id, of), isNull(agents.board_id)))
      )[0],
  };
}

/** Returns the expected fields of the job that applies a user's change of an agent to its host. */
export const updateJob = (agent_id: string, force_bootstrap = false) => ({
  kind: "agent.update",
  payload: { agent_id, user_id: expect.any(String), reset: true, wake: true, deliver: false, force_bootstrap },
});
