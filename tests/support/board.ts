import { skipProvisioning } from "./skip-provisioning.ts";
import type { Tenant, World } from "./world.ts";

/** Adds a board with an agent to a tenant. */
export async function addBoard(
  world: World,
  tenant: Tenant,
  name = "Second",
): Promise<{ board_id: string; agent: { id: string; token: string } }> {
  const create = async (path: string, body: object) => {
    const created = await world.call("POST", path, { token: tenant.owner.token, body });
    if (created.status !== 200) throw new Error(`${path}: ${created.status} ${created.text}`);
    return created.body;
  };
  const board = await create("/api/v1/boards", { name, description: "Another board", gateway_id: tenant.gateway_id });
  const agent = await create("/api/v1/agents", { name: `${name} agent`, board_id: board.id });
  await skipProvisioning(world.db);
  return { board_id: board.id, agent: { id: agent.id, token: agent.auth_token } };
}
