/** The initial state of scenarios, created through the service: its agents are provisioned and have sent heartbeats. */
import type { ServiceEnvironment } from "../../load/environment.ts";
import { HOST_TOKEN } from "../../load/hosts.ts";

export interface ScenarioAgent {
  id: string;
  session_key: string;
  token: string;
}

export interface ScenarioFixture {
  gateway_id: string;
  board_id: string;
  lead: ScenarioAgent;
  worker: ScenarioAgent;
  main: ScenarioAgent;
  /** A worker without a host, which reads its messages from its inbox. */
  remote: { id: string; token: string; board_id: string };
  /** The path of a webhook for the lead. */
  hook: string;
}

export async function createScenarioFixture(outside: ServiceEnvironment): Promise<ScenarioFixture> {
  const create = (path: string, body: object) => outside.create<{ id: string; endpoint_path: string }>(path, body);
  const host = { name: "Host", url: outside.host.url, token: HOST_TOKEN, workspace_root: "/srv/agents" };
  const { id: gateway_id } = await create("/api/v1/gateways", host);
  const { id: board_id } = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id, max_agents: 5 });
  const lead = await createScenarioAgent(outside, { name: "Lead", board_id, is_board_lead: true });
  const worker = await createScenarioAgent(outside, { name: "Worker", board_id });
  const [main] = await outside.rows<{ id: string; session_key: string }>(
    `select id, openclaw_session_id as session_key from agents where board_id is null and gateway_id = '${gateway_id}'`,
  );
  const remote = await createRemoteAgent(outside);

  const board = `/api/v1/boards/${board_id}`;
  const first = await create(`${board}/tasks`, { title: "First", assigned_agent_id: worker.id });
  await create(`${board}/tasks`, { title: "Second", depends_on_task_ids: [first.id] });
  await create(`${board}/tasks/${first.id}/comments`, { message: "Update: begun" });
  await create(`${board}/memory`, { content: "We ship on Fridays" });
  const approval = { action_type: "mail.send", confidence: 80, task_id: first.id, lead_reasoning: "To whom it may concern" };
  await create(`${board}/approvals`, approval);
  const { endpoint_path: hook } = await create(`${board}/webhooks`, { description: "Sort it" });
  await outside.drainQueue();
  const main_agent = { ...main!, token: outside.tokenOnHost(main!.session_key)! };
  return { gateway_id, board_id, lead, worker, main: main_agent, remote, hook };
}

async function createRemoteAgent(outside: ServiceEnvironment): Promise<ScenarioFixture["remote"]> {
  const board = { name: "Remote", description: "A board without a host", gateway: "pull" };
  const { id: board_id } = await outside.create<{ id: string }>("/api/v1/boards", board);
  const worker = { name: "Remote worker", board_id };
  const { id, auth_token } = await outside.create<{ id: string; auth_token: string }>("/api/v1/agents", worker);
  await outside.drainQueue();
  return { id, token: auth_token, board_id };
}

/** Creates an agent that is provisioned on the host. */
async function createScenarioAgent(outside: ServiceEnvironment, body: object): Promise<ScenarioAgent> {
  const created = await outside.create<{ id: string; openclaw_session_id: string; auth_token: string }>("/api/v1/agents", body);
  await outside.drainQueue();
  return { id: created.id, session_key: created.openclaw_session_id, token: created.auth_token };
}
