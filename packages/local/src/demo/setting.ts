import { randomBytes } from "node:crypto";
import { type Client, createClient } from "@board/client/client";
import { gateway, iris, juno, milo, you } from "./cast.ts";
import type { Who } from "./screen.ts";
import type { Stage } from "./stage.ts";

/** An agent as its own program knows it. */
export interface Agent {
  who: Who;
  id: string;
  /** Signed in as this agent. */
  api: Client;
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
  board_id: string;
  /** Signed in as the person. */
  api: Client;
  lead: Agent;
  workers: Agent[];
  doors: Record<"github" | "alerts" | "support", Door>;
}

/** Of the person's tags, what each is for. */
const TAGS = { money: "2e7d32", customers: "f9a825", shop: "1565c0" };

/** Makes a board with three agents, rules, tags and webhooks, with the calls that a person would make. */
export async function furnish(stage: Stage, token: string, gateway_token: string): Promise<Setting> {
  const { url, screen, over: signal } = stage;
  const api = createClient({ url, token, signal });
  const host = await api.post("/api/v1/gateways", {
    body: { name: "Office", url: stage.gateway.url, token: gateway_token, workspace_root: "/srv/agents" },
  });
  screen.tell(you, `register the gateway Office, OpenClaw ${host.version}: ${host.connected ? "connected" : host.last_error}`);

  const description = "Keep the shop running and its customers happy.";
  const board = await api.post("/api/v1/boards", {
    body: { name: "Web shop", description, gateway_id: host.id, max_agents: 2 },
  });
  const board_id = board.id;
  screen.tell(you, `make the board ${board.name}: ${board.description}`);
  await api.patch("/api/v1/boards/{board_id}", {
    params: { path: { board_id } },
    body: { comment_required_for_review: true, require_review_before_done: true, require_approval_for_done: true },
  });
  screen.tell(you, "make its rules: review needs a comment, done needs a review and your approval");
  for (const [name, color] of Object.entries(TAGS)) await api.post("/api/v1/tags", { body: { name, color } });
  screen.tell(you, `make the tags ${Object.keys(TAGS).join(", ")}`);

  const hire = async (who: Who, is_board_lead: boolean): Promise<Agent> => {
    const made = await api.post("/api/v1/agents", { body: { name: who.name, board_id, is_board_lead } });
    const own = createClient({ url, agent_token: made.auth_token, signal });
    return { who, id: made.id, api: own, board_id, session_key: made.openclaw_session_id! };
  };
  const lead = await hire(iris, true);
  const workers = [await hire(milo, false), await hire(juno, false)];
  screen.tell(you, `put ${iris.name} on it as lead, ${milo.name} and ${juno.name} as workers, each with a token`);
  const doors = await openDoors(api, board_id);
  screen.tell(you, "open webhooks for pushes, alerts (both signed) and customers");
  screen.tell(gateway, "takes the agents' files, one workspace after the other");
  return { board_id, api, lead, workers, doors };
}

async function openDoors(api: Client, board_id: string): Promise<Setting["doors"]> {
  const open = async (description: string, secret: string | null, signature_header: string | null): Promise<Door> => {
    const made = await api.post("/api/v1/boards/{board_id}/webhooks", {
      params: { path: { board_id } },
      body: { description, secret, signature_header },
    });
    return { path: made.endpoint_path, secret, signature_header: signature_header ?? "X-Hub-Signature-256" };
  };
  const secret = () => randomBytes(24).toString("hex");
  return {
    github: await open("Pushes to the shop: note what changed, have changes to payments tested.", secret(), null),
    alerts: await open("Alerts: note them, have critical ones looked into at once.", secret(), "X-Alert-Signature"),
    support: await open("Mails and forms of customers: have done what they want, and have them answered.", null, null),
  };
}
