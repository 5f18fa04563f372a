import { randomBytes } from "node:crypto";
import { type Client, createClient } from "@board/client/client";
import { gateway, iris, juno, milo, you } from "./participants.ts";
import type { Participant } from "./demo-log.ts";
import type { DemoContext } from "./demo-context.ts";

/** An agent of the demo, with its own API client. */
export interface Agent {
  who: Participant;
  id: string;
  /** A client with the token of this agent. */
  api: Client;
  board_id: string;
  session_key: string;
}

/** A webhook as the posting system knows it. */
export interface WebhookEndpoint {
  path: string;
  secret: string | null;
  signature_header: string;
}

export interface DemoBoard {
  board_id: string;
  /** A client with the token of the person. */
  api: Client;
  lead: Agent;
  workers: Agent[];
  webhooks: Record<"github" | "alerts" | "support", WebhookEndpoint>;
}

const TAGS = { money: "2e7d32", customers: "f9a825", shop: "1565c0" };

/** Creates a board with three agents, rules, tags and webhooks through the API, as a person would. */
export async function setUpBoard(demo: DemoContext, token: string, gateway_token: string): Promise<DemoBoard> {
  const { url, log, signal } = demo;
  const api = createClient({ url, token, signal });
  const host = await api.post("/api/v1/gateways", {
    body: { name: "Office", url: demo.gateway.url, token: gateway_token, workspace_root: "/srv/agents" },
  });
  log.write(you, `register the gateway Office, OpenClaw ${host.version}: ${host.connected ? "connected" : host.last_error}`);

  const description = "Keep the shop running and its customers happy.";
  const board = await api.post("/api/v1/boards", {
    body: { name: "Web shop", description, gateway_id: host.id, max_agents: 2 },
  });
  const board_id = board.id;
  log.write(you, `create the board ${board.name}: ${board.description}`);
  await api.patch("/api/v1/boards/{board_id}", {
    params: { path: { board_id } },
    body: { comment_required_for_review: true, require_review_before_done: true, require_approval_for_done: true },
  });
  log.write(you, "set its rules: review needs a comment, done needs a review and your approval");
  for (const [name, color] of Object.entries(TAGS)) await api.post("/api/v1/tags", { body: { name, color } });
  log.write(you, `create the tags ${Object.keys(TAGS).join(", ")}`);

  const createAgent = async (who: Participant, is_board_lead: boolean): Promise<Agent> => {
    const created = await api.post("/api/v1/agents", { body: { name: who.name, board_id, is_board_lead } });
    const agentApi = createClient({ url, agent_token: created.auth_token!, signal });
    return { who, id: created.id, api: agentApi, board_id, session_key: created.openclaw_session_id! };
  };
  const lead = await createAgent(iris, true);
  const workers = [await createAgent(milo, false), await createAgent(juno, false)];
  log.write(you, `add ${iris.name} as lead, ${milo.name} and ${juno.name} as workers, each with a token`);
  const webhooks = await createWebhooks(api, board_id);
  log.write(you, "create webhooks for pushes, alerts (both signed) and customers");
  log.write(gateway, "receives the workspace files of each agent");
  return { board_id, api, lead, workers, webhooks };
}

async function createWebhooks(api: Client, board_id: string): Promise<DemoBoard["webhooks"]> {
  const createWebhook = async (
    description: string,
    secret: string | null,
    signature_header: string | null,
  ): Promise<WebhookEndpoint> => {
    const created = await api.post("/api/v1/boards/{board_id}/webhooks", {
      params: { path: { board_id } },
      body: { description, secret, signature_header },
    });
    return { path: created.endpoint_path, secret, signature_header: signature_header ?? "X-Hub-Signature-256" };
  };
  const secret = () => randomBytes(24).toString("hex");
  return {
    github: await createWebhook("Pushes to the shop: note what changed, have payment changes tested.", secret(), null),
    alerts: await createWebhook("Alerts: note them, have critical ones investigated immediately.", secret(), "X-Alert-Signature"),
    support: await createWebhook("Customer emails and forms: handle the request and answer.", null, null),
  };
}
