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

/**
 * Sends GET, and POST with the valid `body`, as callers without access to a board. Agents and callers without a credential
 * also use the agents' path. Returns the distinct statuses of each caller.
 */
export async function statusesForOutsiders(
  world: World,
  { home, abroad }: { home: Tenant; abroad: Tenant },
  paths: { user: string; agent: string },
  body: object,
): Promise<Record<string, number[]>> {
  const { agent: otherAgent } = await addBoard(world, home);
  const both = [paths.user, paths.agent];
  const strangers: [who: string, credential: object, at: string[]][] = [
    ["neighbour", { agent: otherAgent.token }, both],
    ["agent abroad", { agent: abroad.worker.token }, both],
    ["person abroad", { token: abroad.owner.token }, [paths.user]],
    ["nobody", {}, both],
  ];
  const statuses_by_caller: Record<string, number[]> = {};
  for (const [who, credential, at] of strangers) {
    const statuses = new Set<number>();
    for (const path of at) {
      statuses.add((await world.call("GET", path, credential)).status);
      statuses.add((await world.call("POST", path, { ...credential, body })).status);
    }
    statuses_by_caller[who] = [...statuses];
  }
  return statuses_by_caller;
}
