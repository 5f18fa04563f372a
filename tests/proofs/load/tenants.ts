/** Two organizations on one server: A attacks, and the work of B must not be affected. */
import { setTimeout as pause } from "node:timers/promises";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { IdentityProvider } from "../../support/identity-provider.ts";
import { HOST_TOKEN } from "./hosts.ts";

export interface AgentAccess {
  id: string;
  token: string;
}

/** The credentials and ids with which requests act for an organization. Plain data, because it is sent to another process. */
export interface Tenant {
  subject: string;
  token: string;
  gateway_id: string;
  board_id: string;
  lead: AgentAccess;
  worker: AgentAccess;
  /** Posts to this webhook must be signed. */
  signed: { path: string; secret: string };
  /** The path of a webhook that anybody may post to. */
  open_path: string;
}

const MAX_AGENTS = 200;
const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 15_000;

export async function createTenant(
  url: string,
  identities: IdentityProvider,
  subject: string,
  host: FakeGateway,
): Promise<Tenant> {
  const token = await identities.token(subject);
  const send = createSender(url, token);
  await send("GET", "/api/v1/auth/bootstrap");
  const connection = { url: host.url, token: HOST_TOKEN, workspace_root: "/srv/agents" };
  const { id: gateway_id } = await send("POST", "/api/v1/gateways", { name: `${subject} host`, ...connection });
  const description = "A board of work";
  const board = { name: `${subject} board`, description, gateway_id, max_agents: MAX_AGENTS };
  const { id: board_id } = await send("POST", "/api/v1/boards", board);
  const lead = await send("POST", "/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
  const worker = await send("POST", "/api/v1/agents", { name: "Worker", board_id });
  const webhooks = `/api/v1/boards/${board_id}/webhooks`;
  const secret = `the secret of ${subject}`;
  const signed = await send("POST", webhooks, { description: "Sort it", agent_id: worker.id, secret });
  const open = await send("POST", webhooks, { description: "Read it" });
  for (const agent of [lead, worker]) {
    await untilReady(() => send("GET", `/api/v1/agents/${agent.id}`));
    // A heartbeat prevents another wake-up.
    await createSender(url, null, agent.auth_token)("POST", "/api/v1/agent/heartbeat");
  }
  const toAccess = (agent: Record<string, string>): AgentAccess => ({ id: agent["id"]!, token: agent["auth_token"]! });
  return {
    subject,
    token,
    gateway_id: gateway_id!,
    board_id: board_id!,
    lead: toAccess(lead),
    worker: toAccess(worker),
    signed: { path: signed["endpoint_path"]!, secret },
    open_path: open["endpoint_path"]!,
  };
}

type Sender = (method: string, path: string, body?: object) => Promise<Record<string, string>>;

/** Sends requests that must succeed. */
export function createSender(url: string, token: string | null, agent?: string): Sender {
  const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(agent ? { "x-agent-token": agent } : {}) };
  return async (method, path, body) => {
    const init = { method, headers: { ...headers, "content-type": "application/json" } };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const answer = await fetch(url + path, { ...init, ...(body ? { body: JSON.stringify(body) } : {}), signal });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
}

async function untilReady(read: () => Promise<Record<string, string>>): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while ((await read())["status"] !== "ready") {
    if (Date.now() > deadline) throw new Error("An agent was not provisioned in time");
    await pause(100);
  }
}
