import { hostAgentId } from "@board/core/values/session-key";
import { expect } from "vitest";
import { agentsOf } from "../../../support/fake-gateway/config.ts";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";

/** An agent from its creation to its first heartbeat. */
export const provisioning: Scenario = {
  name: "an agent is created and provisioned on its host",

  async act(outside, { board_id }, answers) {
    answers.push(await create(outside, board_id));
  },

  async check(outside, { board_id, worker }, answers) {
    const created = await listAnn(outside);
    expect(created.length).toBeLessThanOrEqual(1);
    if (answers.length > 0) expect(answers).toEqual([expect.objectContaining({ status: 200 })]);
    if (answers.length === 0 && created.length === 0) {
      expect((await create(outside, board_id)).status).toBe(200);
      await outside.drainQueue();
    }
    const [agent, ...others] = await listAnn(outside);
    expect(others).toEqual([]);
    const session_key = agent!.openclaw_session_id;

    const { host } = outside.host;
    const entries = agentsOf(host.config.file(), host.dialect).filter(({ id }) => id === hostAgentId(session_key));
    expect(entries).toMatchObject([{ name: "Ann", workspace: expect.stringContaining("/srv/agents/workspace-") }]);
    // The host's main agent, the gateway's main agent, the lead, the worker and the new agent.
    expect(agentsOf(host.config.file(), host.dialect)).toHaveLength(5);
    expect(filesOf(outside, session_key)).toEqual(filesOf(outside, worker.session_key));
    const token = outside.tokenOnHost(session_key)!;
    expect((await outside.request("GET", "/api/v1/agent/healthz", { agent: token })).body).toMatchObject({ agent_id: agent!.id });
    expect((await listAnn(outside))[0]).toMatchObject({ status: "online", last_provision_error: null, wake_attempts: 0 });
    for (const { body } of answers) expect(body).toMatchObject({ id: agent!.id, auth_token: token });

    const [job] = await outside.rows<{ id: string }>(
      `select id from jobs where kind = 'agent.provision' and payload ->> 'agent_id' = '${agent!.id}'`,
    );
    const woken = outside.host.messages.filter((message) => message.session_key === session_key);
    expect(woken.filter(({ idempotency_key }) => idempotency_key === `wake-${job!.id}`)).toHaveLength(1);
    // A repeated attempt waits for a new heartbeat, so an agent that already sent one is woken again.
    expect(woken.length).toBeLessThanOrEqual(2);
    expect(await outside.rows("select kind, status, last_error from jobs where status <> 'done'")).toEqual([]);
    const events = await outside.rows<{ event_type: string }>(
      `select event_type from activity_events where agent_id = '${agent!.id}' order by seq`,
    );
    const once = events.map(({ event_type }) => event_type).filter((type) => /provisioned|wakeup\.sent/.test(type));
    expect(once).toEqual(["agent.provisioned", ...woken.map(() => "agent.wakeup.sent")]);
    return woken.length > 1 ? "woken a second time" : null;
  },
};

const create = (outside: ServiceEnvironment, board_id: string) =>
  outside.request("POST", "/api/v1/agents", { body: { name: "Ann", board_id } });

const listAnn = (outside: ServiceEnvironment) =>
  outside.rows<{ id: string; status: string; openclaw_session_id: string }>("select * from agents where name = 'Ann'");

/** Returns the names of an agent's files on a host. */
function filesOf({ host }: ServiceEnvironment, session_key: string): string[] {
  const files = host.host.files.get(`/srv/agents/workspace-${hostAgentId(session_key)}`);
  return [...(files?.keys() ?? [])].toSorted();
}
