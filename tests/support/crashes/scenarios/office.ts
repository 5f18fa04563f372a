/** What scenarios begin with, made by the service itself: agents are brought onto their host, and have checked in. */
import { HOST_TOKEN, type Outside } from "../outside.ts";

export interface Member {
  id: string;
  session_key: string;
  token: string;
}

export interface Office {
  gateway_id: string;
  board_id: string;
  lead: Member;
  worker: Member;
  main: Member;
  /** Path of a webhook for the lead. */
  hook: string;
}

export async function addOffice(outside: Outside): Promise<Office> {
  const create = (path: string, body: object) => outside.create<{ id: string; endpoint_path: string }>(path, body);
  const host = { name: "Host", url: outside.host.url, token: HOST_TOKEN, workspace_root: "/srv/agents" };
  const { id: gateway_id } = await create("/api/v1/gateways", host);
  const { id: board_id } = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id, max_agents: 5 });
  const lead = await addMember(outside, { name: "Lead", board_id, is_board_lead: true });
  const worker = await addMember(outside, { name: "Worker", board_id });
  const [main] = await outside.rows<{ id: string; session_key: string }>(
    "select id, openclaw_session_id as session_key from agents where board_id is null",
  );

  const board = `/api/v1/boards/${board_id}`;
  const first = await create(`${board}/tasks`, { title: "First", assigned_agent_id: worker.id });
  await create(`${board}/tasks`, { title: "Second", depends_on_task_ids: [first.id] });
  await create(`${board}/tasks/${first.id}/comments`, { message: "Update: begun" });
  await create(`${board}/memory`, { content: "We ship on Fridays" });
  const wish = { action_type: "mail.send", confidence: 80, task_id: first.id, lead_reasoning: "To whom it may concern" };
  await create(`${board}/approvals`, wish);
  const { endpoint_path: hook } = await create(`${board}/webhooks`, { description: "Sort it" });
  await outside.settle();
  return { gateway_id, board_id, lead, worker, main: { ...main!, token: outside.tokenOnHost(main!.session_key)! }, hook };
}

/** An agent that has its place on the host. */
async function addMember(outside: Outside, body: object): Promise<Member> {
  const made = await outside.create<{ id: string; openclaw_session_id: string; auth_token: string }>("/api/v1/agents", body);
  await outside.settle();
  return { id: made.id, session_key: made.openclaw_session_id, token: made.auth_token };
}
