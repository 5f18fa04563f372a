/** Adds organizations with webhooks, each with a separate host. */
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { ServiceEnvironment } from "../load/environment.ts";
import { HOST_TOKEN } from "../load/hosts.ts";

export interface WebhookTarget {
  path: string;
  id: string;
  /** The agent that the webhook notifies. */
  agent_id: string;
}

export async function addChaosTenants(
  outside: ServiceEnvironment,
  hosts: readonly FakeGateway[],
  boards: number,
): Promise<WebhookTarget[]> {
  const hooks: WebhookTarget[] = [];
  const create = (path: string, body: object) => outside.create<{ id: string; endpoint_path: string }>(path, body);
  for (const [index, host] of hosts.entries()) {
    await create("/api/v1/organizations", { name: `Customer ${index}` });
    const connection = { name: "Host", url: host.url, token: HOST_TOKEN, workspace_root: "/srv/agents" };
    const { id: gateway_id } = await create("/api/v1/gateways", connection);
    for (let board = 0; board < boards; board++) {
      const { id: board_id } = await create("/api/v1/boards", { name: `Board ${board}`, description: "A board", gateway_id });
      const lead = await create("/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
      const worker = await create("/api/v1/agents", { name: "Worker", board_id });
      for (const [agent, named] of [
        [lead, {}],
        [worker, { agent_id: worker.id }],
      ] as const) {
        const path = `/api/v1/boards/${board_id}/webhooks`;
        const { id, endpoint_path } = await create(path, { description: "Sort it", ...named });
        hooks.push({ path: endpoint_path, id, agent_id: agent.id });
      }
    }
  }
  // Provisioning is not part of this test.
  await outside.db.execute(sql`delete from jobs`);
  for (const { calls } of hosts) calls.length = 0;
  return hooks;
}
