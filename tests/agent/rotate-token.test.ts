import { expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { setupWorld } from "../support/fixtures.ts";
import { isAccepted } from "../support/http.ts";
import { openPullBoard } from "../support/pull-board.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "owner");
const { token } = home.owner;

const rotate = (id: string, headers: Record<string, string> = {}) =>
  world.call("POST", `/api/v1/agents/${id}/token`, { token, headers });

test("when the token of an agent without a host is rotated, the old token stops at once, and only the response has the new token", async () => {
  const agent = await home.addAgent("Milo");
  const rotated = await rotate(agent.id);
  expect([rotated.status, rotated.body]).toEqual([
    200,
    { agent_id: agent.id, auth_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) },
  ]);
  const { auth_token } = rotated.body;
  expect([await isAccepted(world, agent.token), await isAccepted(world, auth_token)]).toEqual([false, true]);
  expect((await world.call("GET", `/api/v1/agents/${agent.id}`, { token })).text).not.toContain(auth_token);
});

test("a rotation is recorded in the activity log and in the audit log, without the token", async () => {
  const agent = await home.addAgent("Iris");
  const { auth_token } = (await rotate(agent.id)).body;
  expect(await listEvents(world, { agent_id: agent.id })).toMatchObject([
    {
      event_type: "agent.token.rotated",
      message: "Token of Iris replaced.",
      board_id: home.board_id,
      user_id: expect.any(String),
    },
  ]);
  const audit = await world.call("GET", "/api/v1/audit?action=agent.token_rotated", { token });
  expect(audit.body.items[0]).toMatchObject({ target: { type: "agent", id: agent.id, name: "Iris" } });
  expect(audit.text).not.toContain(auth_token);
});

test("the tokens of an agent's runs stop working with its token, and the tokens of other agents' runs keep working", async () => {
  const agents = [await home.addAgent("Nora"), await home.addAgent("Otto")];
  const run_tokens: string[] = [];
  for (const agent of agents) {
    await home.addTask({ assigned_agent_id: agent.id });
    const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: agent.token, body: {} });
    const made = await world.call("POST", `/api/v1/agent/runs/${taken.body.task.run.id}/token`, { agent: agent.token });
    run_tokens.push(made.body.token);
  }
  const [nora, otto] = run_tokens as [string, string];
  const reads = async (agent: string) => (await world.call("GET", "/api/v1/agent/inbox", { agent })).status;
  const before = await reads(otto);
  await rotate(agents[0]!.id);
  expect([await reads(nora), await reads(otto)]).toEqual([401, before]);
  expect(before).not.toBe(401);
});

test("the repeated answer to a rotation with Idempotency-Key has no token, and the first new token keeps working", async () => {
  const agent = await home.addAgent("Paul");
  const headers = { "Idempotency-Key": "rotation-1" };
  const first = await rotate(agent.id, headers);
  const second = await rotate(agent.id, headers);
  expect(second.body).toEqual({ agent_id: agent.id, auth_token: null });
  expect(await isAccepted(world, first.body.auth_token)).toBe(true);
});

test("after two rotations at the same moment exactly one of the new tokens works", async () => {
  const agent = await home.addAgent("Rosa");
  const rotations = await Promise.all([rotate(agent.id), rotate(agent.id)]);
  const accepted = await Promise.all(rotations.map(({ body }) => isAccepted(world, body.auth_token)));
  expect(accepted.filter(Boolean)).toHaveLength(1);
});

test("members and agents cannot rotate a token, nor can admins without the right to write to the board", async () => {
  const tenant = await world.tenant("tenant");
  const member = await world.member("member", tenant, "member", { write: true });
  const reader = await world.member("reader", tenant, "admin", { read: true });
  const path = `/api/v1/agents/${tenant.worker.id}/token`;
  const callers = [{ token: member.token }, { token: reader.token }, { agent: tenant.lead.token }, { token }];
  const answers = await Promise.all(callers.map((caller) => world.call("POST", path, caller)));
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 401, 404]);
  expect(await isAccepted(world, tenant.worker.token)).toBe(true);
});
