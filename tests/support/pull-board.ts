import type { Answer, CallOptions } from "./http.ts";
import type { Person, World } from "./world.ts";

export interface PullAgent {
  id: string;
  token: string;
}

/** A board whose agents have no host, in a new organization. */
export interface PullBoard {
  owner: Person;
  organization_id: string;
  gateway_id: string;
  board_id: string;
  lead: PullAgent;
  worker: PullAgent;
  call: (method: string, path: string, token: string, body?: object) => Promise<Answer>;
  addAgent: (name: string, fields?: object) => Promise<PullAgent>;
  addTask: (fields?: object) => Promise<string>;
  inbox: (agent: PullAgent, query?: string, options?: CallOptions) => Promise<Answer>;
}

export async function openPullBoard(world: World, subject: string, board: object = {}): Promise<PullBoard> {
  const owner = await world.person(subject);
  const call = (method: string, path: string, token: string, body?: object) => world.call(method, path, { token, body });
  const create = async (path: string, body: object) => {
    const answer = await call("POST", path, owner.token, body);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  await call("GET", "/api/v1/auth/bootstrap", owner.token);
  const made = await create("/api/v1/boards", {
    name: `${subject} board`,
    description: "A board",
    gateway: "pull",
    max_agents: 50,
    ...board,
  });
  const addAgent = async (name: string, fields: object = {}) => {
    const agent = await create("/api/v1/agents", { name, board_id: made.id, ...fields });
    return { id: agent.id, token: agent.auth_token };
  };
  return {
    owner,
    organization_id: made.organization_id,
    gateway_id: made.gateway_id,
    board_id: made.id,
    lead: await addAgent("Lead", { is_board_lead: true }),
    worker: await addAgent("Worker"),
    call,
    addAgent,
    addTask: async (fields = {}) => (await create(`/api/v1/boards/${made.id}/tasks`, { title: "Task", ...fields })).id,
    inbox: (agent, query = "", options = {}) =>
      world.call("GET", `/api/v1/agent/inbox${query}`, { agent: agent.token, ...options }),
  };
}
