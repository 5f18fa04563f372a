import { addGroup, groupMemoryPath } from "../support/group.ts";
import type { Answer } from "../support/http.ts";
import { approvalsPath } from "../support/approval.ts";
import { FIELDS } from "../support/custom-field.ts";
import type { Tenant, World } from "../support/world.ts";

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

/** The rows that the requests of a kind use. They contain little text themselves. */
export interface Place {
  tenant: Tenant;
  call: Call;
  agent: Call;
  board: string;
  task: string;
  /** The path, for agents, of a task that is assigned to the tenant's worker. */
  worker_task: string;
  group: string;
  field: { id: string; field_key: string };
}

export interface TextKind {
  /** The request that stores a text of this kind. */
  add: (place: Place, text: string) => Promise<Answer>;
  /** Replaces the text of what `add` created, where it can be changed. */
  change?: (place: Place, made: Answer, text: string) => Promise<Answer>;
  /** The request that removes the text, or else the smallest resource that contains it. */
  remove: (place: Place, made: Answer) => Promise<Answer>;
}

export async function createPlace(world: World, tenant: Tenant): Promise<Place> {
  const call: Call = (method, path, body) => world.call(method, path, { token: tenant.owner.token, body });
  const agent: Call = (method, path, body) => world.call(method, path, { agent: tenant.worker.token, body });
  const created = await call("POST", "/api/v1/boards", {
    name: "B",
    description: "b",
    gateway_id: tenant.gateway_id,
    max_agents: 9,
  });
  const board = `/api/v1/boards/${created.body.id}`;
  const task = await call("POST", `${board}/tasks`, { title: "T" });
  const own = await call("POST", `/api/v1/boards/${tenant.board_id}/tasks`, { title: "T", assigned_agent_id: tenant.worker.id });
  const worker_task = `/api/v1/agent/boards/${tenant.board_id}/tasks/${own.body.id}`;
  const field = await call("POST", FIELDS, { field_key: "f", field_type: "text_long", board_ids: [created.body.id] });
  const group = await addGroup(world, tenant, "G", []);
  return { tenant, call, agent, board, task: `${board}/tasks/${task.body.id}`, worker_task, group, field: field.body };
}

/** Returns a kind of text that is stored in the items of a list. Each item has a path below the path of the list. */
const itemKind = (
  list: (place: Place) => string,
  body: (text: string, place: Place) => object,
  changed?: (text: string) => object,
): TextKind => ({
  add: (place, text) => place.call("POST", list(place), body(text, place)),
  ...(changed ? { change: (place, made, text) => place.call("PATCH", `${list(place)}/${made.body.id}`, changed(text)) } : {}),
  remove: (place, made) => place.call("DELETE", `${list(place)}/${made.body.id}`),
});
const removeBoard = (place: Place) => place.call("DELETE", place.board);
const removeTask = (place: Place) => place.call("DELETE", place.task);
const organization = "/api/v1/organizations/me";

export const TEXT_KINDS: Record<string, TextKind> = {
  "a task's description": itemKind(
    (place) => `${place.board}/tasks`,
    (text) => ({ title: "New", description: text }),
    (text) => ({ description: text }),
  ),
  "a comment": { add: (place, text) => place.call("POST", `${place.task}/comments`, { message: text }), remove: removeTask },
  "a comment with a change": { add: (place, text) => place.call("PATCH", place.task, { comment: text }), remove: removeTask },
  "a value of a custom field": {
    add: (place, text) => place.call("PATCH", place.task, { custom_field_values: { [place.field.field_key]: text } }),
    change: (place, _made, text) => place.call("PATCH", place.task, { custom_field_values: { [place.field.field_key]: text } }),
    remove: removeTask,
  },
  "a custom field": itemKind(
    () => FIELDS,
    (text, { board }) => ({ field_key: "g", field_type: "text", description: text, board_ids: [board.split("/").at(-1)] }),
    (text) => ({ description: text }),
  ),
  "memory of a board": {
    add: (place, text) => place.call("POST", `${place.board}/memory`, { content: text }),
    remove: removeBoard,
  },
  "a value in the memory of a board": {
    add: (place, text) => place.call("POST", `${place.board}/memory`, { content: "c", memory_key: "k", value: { text } }),
    remove: removeBoard,
  },
  "memory of a group": {
    add: (place, text) => place.call("POST", groupMemoryPath(place.group), { content: text }),
    remove: (place) => place.call("DELETE", `/api/v1/board-groups/${place.group}`),
  },
  "a board": itemKind(
    () => "/api/v1/boards",
    (text, { tenant }) => ({ name: "N", description: text, gateway_id: tenant.gateway_id }),
    (text) => ({ description: text }),
  ),
  "a board group": itemKind(
    () => "/api/v1/board-groups",
    (text) => ({ name: "N", description: text }),
    (text) => ({ description: text }),
  ),
  "an agent's identity": {
    add: (place, text) =>
      place.call("POST", "/api/v1/agents", { name: "N", board_id: place.board.split("/").at(-1), identity_template: text }),
    change: (place, made, text) => place.call("PATCH", `/api/v1/agents/${made.body.id}`, { identity_template: text }),
    remove: removeBoard,
  },
  "an agent's soul": {
    add: (place, text) => place.call("PATCH", `/api/v1/agents/${place.tenant.worker.id}`, { soul_template: text }),
    change: (place, _made, text) => place.call("PATCH", `/api/v1/agents/${place.tenant.worker.id}`, { soul_template: text }),
    remove: (place) => place.call("PATCH", `/api/v1/agents/${place.tenant.worker.id}`, { soul_template: null }),
  },
  "an approval": {
    add: (place, text) =>
      place.call("POST", `${place.board}/approvals`, { action_type: "Deploy", description: "D", payload: { text } }),
    remove: removeBoard,
  },
  "an agent's approval": {
    add: ({ tenant, agent }, text) =>
      agent("POST", approvalsPath(tenant.board_id).replace("v1/", "v1/agent/"), {
        action_type: "Deploy",
        description: "D",
        payload: { text },
      }),
    remove: ({ tenant, call }) => call("DELETE", `/api/v1/boards/${tenant.board_id}`),
  },
  "an agent's task comment": {
    add: ({ agent, worker_task }, text) => agent("POST", `${worker_task}/comments`, { message: text }),
    remove: ({ tenant, call }) => call("DELETE", `/api/v1/boards/${tenant.board_id}`),
  },
  "a webhook": itemKind(
    (place) => `${place.board}/webhooks`,
    (text) => ({ description: text }),
    (text) => ({ description: text }),
  ),
  "a tag": itemKind(
    () => "/api/v1/tags",
    (text) => ({ name: "N", description: text }),
    (text) => ({ description: text }),
  ),
  "a skill": {
    add: (place, text) =>
      place.call("POST", "/api/v1/skills/marketplace", { source_url: "https://github.com/a/b", description: text }),
    change: (place, _made, text) =>
      place.call("POST", "/api/v1/skills/marketplace", { source_url: "https://github.com/a/b", description: text }),
    remove: (place, made) => place.call("DELETE", `/api/v1/skills/marketplace/${made.body.id}`),
  },
  "a skill pack": {
    add: (place, text) => place.call("POST", "/api/v1/skills/packs", { source_url: "https://github.com/a/p", description: text }),
    change: (place, made, text) =>
      place.call("PATCH", `/api/v1/skills/packs/${made.body.id}`, { source_url: "https://github.com/a/p", description: text }),
    remove: (place, made) => place.call("DELETE", `/api/v1/skills/packs/${made.body.id}`),
  },
  "an invite": itemKind(
    () => `${organization}/invites`,
    (text) => ({ invited_email: `${text.slice(0, 60)}@example.com`, role: "member" }),
  ),
};
