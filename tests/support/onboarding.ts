import type { Answer } from "./http.ts";
import { actAsMainAgent } from "./main-agent.ts";
import type { Tenant, World } from "./world.ts";

/** The onboarding of a board without agents, with calls of the owner and of the gateway's main agent. */
export interface Onboarding {
  board_id: string;
  path: string;
  main: { id: string; token: string };
  read(): Promise<Answer>;
  start(): Promise<Answer>;
  answer(body: unknown): Promise<Answer>;
  reply(body: unknown): Promise<Answer>;
  confirm(body: unknown): Promise<Answer>;
}

export async function createOnboarding(world: World, tenant: Tenant, board: object = {}): Promise<Onboarding> {
  const { token } = tenant.owner;
  const body = { name: "Launch", description: "What we launch", gateway_id: tenant.gateway_id, ...board };
  const created = await world.call("POST", "/api/v1/boards", { token, body });
  if (created.status !== 200) throw new Error(`/api/v1/boards: ${created.status} ${created.text}`);
  const main = await actAsMainAgent(world, tenant.gateway_id);
  const path = `/api/v1/boards/${created.body.id}/onboarding`;
  return {
    board_id: created.body.id,
    path,
    main,
    read: () => world.call("GET", path, { token }),
    start: () => world.call("POST", `${path}/start`, { token, body: {} }),
    answer: (body) => world.call("POST", `${path}/answer`, { token, body }),
    reply: (body) => world.call("POST", `/api/v1/agent/boards/${created.body.id}/onboarding`, { agent: main.token, body }),
    confirm: (body) => world.call("POST", `${path}/confirm`, { token, body }),
  };
}

export const QUESTION = { question: "Who is it for?", options: [{ id: "1", label: "Customers" }] };
export const GOAL = { board_type: "goal", objective: "Ship it", success_metrics: { customers: 10 } };
export const COMPLETION = { status: "complete", ...GOAL };
