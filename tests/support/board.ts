import { skipProvisioning } from "./skip-provisioning.ts";
import type { Tenant, World } from "./world.ts";

/** One more board of a tenant, with an agent of its own. */
export async function addBoard(
  world: World,
  tenant: Tenant,
  name = "Second",
): Promise<{ board_id: string; agent: { id: string; token: string } }> {
  const create = async (path: string, body: object) => {
    const made = await world.call("POST", path, { token: tenant.owner.token, body });
    if (made.status !== 200) throw new Error(`${path}: ${made.status} ${made.text}`);
    return made.body;
  };
  const board = await create("/api/v1/boards", { name, description: "Another board", gateway_id: tenant.gateway_id });
  const agent = await create("/api/v1/agents", { name: `${name} agent`, board_id: board.id });
  await skipProvisioning(world.db);
  return { board_id: board.id, agent: { id: agent.id, token: agent.auth_token } };
}
