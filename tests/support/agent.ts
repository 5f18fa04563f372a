import { agents } from "@board/core/db/schema";
import { and, eq, isNull } from "drizzle-orm";
import { expect } from "vitest";
import type { Answer, CallOptions } from "./http.ts";
import type { NewAgent } from "./provisioning.ts";
import type { Tenant, World } from "./world.ts";

type AgentRow = typeof agents.$inferSelect;

/** What the owner of a tenant makes and changes where agents are managed, and what is stored of them. */
export function manageAgents(world: World, { owner: { token }, gateway_id }: Tenant) {
  const create = async (path: string, body: object) => {
    const made = await world.call("POST", path, { token, body });
    expect([made.status, made.body], path).toEqual([200, expect.anything()]);
    return made.body;
  };
  return {
    /** Where no agent can be reached. */
    addGateway: async (): Promise<string> =>
      (await create("/api/v1/gateways", { name: "Away", url: "ws://127.0.0.1:9", workspace_root: "/srv" })).id,
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

/** The job that brings a user's change of an agent to its host, among other fields of its row. */
export const updateJob = (agent_id: string, force_bootstrap = false) => ({
  kind: "agent.update",
  payload: { agent_id, user_id: expect.any(String), reset: true, wake: true, deliver: false, force_bootstrap },
});
