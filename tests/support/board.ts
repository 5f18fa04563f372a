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

/**
 * Has strangers to a board read what it has at an address, and add the valid `body` to it; the agents among them, and who shows
 * no credential, at the address for agents too. Returns the different statuses that each of them gets.
 */
export async function askAsStrangers(
  world: World,
  { home, abroad }: { home: Tenant; abroad: Tenant },
  paths: { user: string; agent: string },
  body: object,
): Promise<Record<string, number[]>> {
  const { agent: neighbour } = await addBoard(world, home);
  const both = [paths.user, paths.agent];
  const strangers: [who: string, credential: object, at: string[]][] = [
    ["neighbour", { agent: neighbour.token }, both],
    ["agent abroad", { agent: abroad.worker.token }, both],
    ["person abroad", { token: abroad.owner.token }, [paths.user]],
    ["nobody", {}, both],
  ];
  const told: Record<string, number[]> = {};
  for (const [who, credential, at] of strangers) {
    const statuses = new Set<number>();
    for (const path of at) {
      statuses.add((await world.call("GET", path, credential)).status);
      statuses.add((await world.call("POST", path, { ...credential, body })).status);
    }
    told[who] = [...statuses];
  }
  return told;
}
