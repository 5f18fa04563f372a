import { randomBytes } from "node:crypto";
import type { AgentCreated } from "@board/core/agent/agent";
import type { Board } from "@board/core/board/board";
import type { Gateway } from "@board/core/gateway/gateway";
import type { Webhook } from "@board/core/webhook/webhook";
import { iris, milo, you } from "./cast.ts";
import { type Call, client, type Stage } from "./stage.ts";

/** An agent as its own program knows it. */
export interface Agent {
  call: Call;
  board_id: string;
  session_key: string;
}

/** A webhook as the outside system that posts to it knows it. */
export interface Door {
  path: string;
  secret: string | null;
  signature_header: string;
}

export interface Setting {
  lead: Agent;
  worker: Agent;
  doors: { github: Door; alerts: Door; support: Door };
}

/** Makes a board with two agents and three webhooks, with the calls that a person would make. */
export async function furnish(stage: Stage, token: string, gateway_token: string): Promise<Setting> {
  const { screen } = stage;
  const call = client(stage, { authorization: `Bearer ${token}` });
  const host = await call<Gateway>("POST", "/api/v1/gateways", {
    name: "Office",
    url: stage.gateway.url,
    token: gateway_token,
    workspace_root: "/srv/agents",
  });
  screen.tell(you, `register the gateway Office, OpenClaw ${host.version}: ${host.connected ? "connected" : host.last_error}`);

  const board = await call<Board>("POST", "/api/v1/boards", {
    name: "Web shop",
    description: "Keep the shop running and its customers happy.",
    gateway_id: host.id,
  });
  screen.tell(you, `make the board ${board.name}: ${board.description}`);

  const hire = async (name: string, is_board_lead: boolean): Promise<Agent> => {
    const made = await call<AgentCreated>("POST", "/api/v1/agents", { name, board_id: board.id, is_board_lead });
    const own = client(stage, { "x-agent-token": made.auth_token });
    return { call: own, board_id: board.id, session_key: made.openclaw_session_id! };
  };
  const lead = await hire(iris.name, true);
  const worker = await hire(milo.name, false);
  screen.tell(you, `put ${iris.name} on it as lead and ${milo.name} as worker, each with a token`);

  const open = async (description: string, secret: string | null, signature_header: string | null): Promise<Door> => {
    const made = await call<Webhook>("POST", `/api/v1/boards/${board.id}/webhooks`, { description, secret, signature_header });
    return { path: made.endpoint_path, secret, signature_header: signature_header ?? "X-Hub-Signature-256" };
  };
  const secret = () => randomBytes(24).toString("hex");
  const doors = {
    github: await open("Pushes to the shop: note what changed, have changes to payments checked.", secret(), null),
    alerts: await open("Alerts: note them, have critical ones looked into at once.", secret(), "X-Alert-Signature"),
    support: await open("Mails and forms of customers: note what they want, have them answered.", null, null),
  };
  screen.tell(you, "open webhooks for pushes, alerts (both signed) and customers");
  return { lead, worker, doors };
}
