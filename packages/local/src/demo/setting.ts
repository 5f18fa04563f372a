import { randomBytes } from "node:crypto";
import type { AgentCreated } from "@board/core/agent/agent";
import type { Board } from "@board/core/board/board";
import type { Gateway } from "@board/core/gateway/gateway";
import type { Webhook } from "@board/core/webhook/webhook";
import { iris, juno, milo, you } from "./cast.ts";
import type { Who } from "./screen.ts";
import { type Call, client, type Follow, follower, type Stage } from "./stage.ts";

/** An agent as its own program knows it. */
export interface Agent {
  who: Who;
  id: string;
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
  board_id: string;
  /** The person's own requests and streams. */
  call: Call;
  follow: Follow;
  lead: Agent;
  workers: Agent[];
  doors: Record<"github" | "alerts" | "support", Door>;
}

/** Of the person's tags, what each is for. */
const TAGS = { money: "2e7d32", customers: "f9a825", shop: "1565c0" };

/** Makes a board with three agents, rules, tags and webhooks, with the calls that a person would make. */
export async function furnish(stage: Stage, token: string, gateway_token: string): Promise<Setting> {
  const { screen } = stage;
  const credentials = { authorization: `Bearer ${token}` };
  const call = client(stage, credentials);
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
    max_agents: 2,
  });
  screen.tell(you, `make the board ${board.name}: ${board.description}`);
  await call<Board>("PATCH", `/api/v1/boards/${board.id}`, {
    comment_required_for_review: true,
    require_review_before_done: true,
    require_approval_for_done: true,
  });
  screen.tell(you, "make its rules: review needs a comment, done needs a review and your approval");
  for (const [name, color] of Object.entries(TAGS)) await call("POST", "/api/v1/tags", { name, color });
  screen.tell(you, `make the tags ${Object.keys(TAGS).join(", ")}`);

  const hire = async (who: Who, is_board_lead: boolean): Promise<Agent> => {
    const made = await call<AgentCreated>("POST", "/api/v1/agents", { name: who.name, board_id: board.id, is_board_lead });
    const own = client(stage, { "x-agent-token": made.auth_token });
    return { who, id: made.id, call: own, board_id: board.id, session_key: made.openclaw_session_id! };
  };
  const lead = await hire(iris, true);
  const workers = [await hire(milo, false), await hire(juno, false)];
  screen.tell(you, `put ${iris.name} on it as lead, ${milo.name} and ${juno.name} as workers, each with a token`);
  const doors = await openDoors(call, board.id);
  screen.tell(you, "open webhooks for pushes, alerts (both signed) and customers");
  return { board_id: board.id, call, follow: follower(stage, credentials), lead, workers, doors };
}

async function openDoors(call: Call, board_id: string): Promise<Setting["doors"]> {
  const open = async (description: string, secret: string | null, signature_header: string | null): Promise<Door> => {
    const made = await call<Webhook>("POST", `/api/v1/boards/${board_id}/webhooks`, { description, secret, signature_header });
    return { path: made.endpoint_path, secret, signature_header: signature_header ?? "X-Hub-Signature-256" };
  };
  const secret = () => randomBytes(24).toString("hex");
  return {
    github: await open("Pushes to the shop: note what changed, have changes to payments tested.", secret(), null),
    alerts: await open("Alerts: note them, have critical ones looked into at once.", secret(), "X-Alert-Signature"),
    support: await open("Mails and forms of customers: have done what they want, and have them answered.", null, null),
  };
}
