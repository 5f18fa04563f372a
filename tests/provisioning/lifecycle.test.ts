import { type AgentStatus, agents } from "@board/core/schema/agent.sql";
import { activity_events, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { and, asc, eq, inArray } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { renew, setupWorld } from "../support/fixtures.ts";
import {
  addAgent,
  addEmptyBoard,
  getAgentRow,
  getAgentJob,
  MAX_RETRY_DELAY_MS,
  SECOND_MS,
  listActivityTypes,
} from "../support/provisioning.ts";
import type { Tenant } from "../support/world.ts";

const MINUTE_MS = 60 * SECOND_MS;

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(async () => {
  await world.db.delete(agents);
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
});
const ann = renew(async () => addAgent(world, home, await addEmptyBoardAgain()));
const addEmptyBoardAgain = async () => {
  // The deletion of all agents included the main agent of the gateway, which boards need.
  await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body: {} });
  return addEmptyBoard(world, home);
};

const sweep = () => scheduled.lifecycle(world.context());
const row = () => getAgentRow(world, ann.id);
const recordedEvents = () => listActivityTypes(world, ann.id);
const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, ann.id));
const ago = (ms: number) => new Date(world.now().getTime() - ms);

describe("an agent that has not been seen for a while", () => {
  test.each<AgentStatus>(["online", "active"])(
    "an agent that was %s is offline after ten minutes, which is recorded once",
    async (status) => {
      await set({ status, last_seen_at: ago(10 * MINUTE_MS + SECOND_MS) });
      const { change_seq } = await row();
      await sweep();
      const updated = await row();
      expect([updated.status, updated.last_provision_error, updated.change_seq > change_seq]).toEqual(["offline", null, true]);
      await sweep();
      expect([await recordedEvents(), await row()]).toEqual([["agent.disconnected"], updated]);
      const [event] = await listEvents(world, { agent_id: ann.id });
      expect(event).toMatchObject({ organization_id: home.organization_id, board_id: updated.board_id });
    },
  );

  test("an agent that was seen more recently keeps its status", async () => {
    await set({ status: "online", last_seen_at: ago(9 * MINUTE_MS) });
    const before = await row();
    await sweep();
    expect([await row(), await recordedEvents()]).toEqual([before, []]);
  });

  test.each<AgentStatus>(["ready", "offline", "deleting"])("an agent that is %s keeps its status", async (status) => {
    await set({ status, last_seen_at: ago(60 * MINUTE_MS) });
    await sweep();
    expect([(await row()).status, await recordedEvents()]).toEqual([status, []]);
  });

  test("one run finds all agents that are offline, of every tenant and in any number", async () => {
    const abroad = await world.tenant("abroad");
    const places = [
      { gateway_id: home.gateway_id, board_id: (await row()).board_id },
      { gateway_id: abroad.gateway_id, board_id: abroad.board_id },
    ];
    const many = Array.from({ length: 1_100 }, (_, number) => ({
      ...places[number % 2]!,
      name: `Agent ${number}`,
      status: "online" as const,
      last_seen_at: ago(11 * MINUTE_MS),
    }));
    await world.db.insert(agents).values(many);
    await sweep();
    expect(await world.db.$count(agents, eq(agents.status, "online"))).toBe(0);
    const events = await listEvents(world, { event_type: "agent.disconnected" });
    const of = (tenant: Tenant) => events.filter(({ organization_id }) => organization_id === tenant.organization_id).length;
    expect([of(home), of(abroad)]).toEqual([550, 550]);
  });
});

describe("an agent that is being provisioned or updated", () => {
  test.each<AgentStatus>(["provisioning", "updating"])("an agent without a job does not stay %s", async (status) => {
    const created_at = world.now();
    await set({ status, previous_status: "ready", wake_attempts: 1, checkin_deadline_at: created_at, created_at });
    await world.db.delete(jobs);
    await sweep();
    expect((await row()).status).toBe(status);
    world.elapse(15 * MINUTE_MS + SECOND_MS);
    await sweep();
    expect(await row()).toMatchObject({
      status: "offline",
      previous_status: null,
      wake_attempts: 0,
      checkin_deadline_at: null,
      last_provision_error: expect.stringContaining("interrupted"),
    });
    expect(await recordedEvents()).toEqual(["agent.disconnected"]);
  });

  test.each(["queued", "running"] as const)(
    "an agent with a %s job keeps its status, no matter how long the job takes",
    async (status) => {
      const { id } = await getAgentJob(world, "agent.provision", ann.id);
      await world.db.update(jobs).set({ status }).where(eq(jobs.id, id));
      world.elapse(600 * MINUTE_MS);
      await sweep();
      expect((await row()).status).toBe("provisioning");
    },
  );

  test("an agent keeps its status for 15 minutes after its last job has ended", async () => {
    world.elapse(600 * MINUTE_MS);
    const { id } = await getAgentJob(world, "agent.provision", ann.id);
    await world.db.update(jobs).set({ status: "dead", finished_at: world.now() }).where(eq(jobs.id, id));
    await sweep();
    expect((await row()).status).toBe("provisioning");
    world.elapse(15 * MINUTE_MS + SECOND_MS);
    await sweep();
    expect((await row()).status).toBe("offline");
  });

  test("an agent that is updating without a job goes offline even when it sends requests", async () => {
    await set({ status: "updating", previous_status: "online" });
    await world.db.delete(jobs);
    world.elapse(15 * MINUTE_MS + SECOND_MS);
    await world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token });
    await sweep();
    expect((await row()).status).toBe("offline");
  });
});

test("an agent whose host stays down goes through its states, and stays in no intermediate state", async () => {
  const seen: string[] = [];
  for (let rounds = 0; rounds < 10; rounds++) {
    await world.drain();
    await sweep();
    seen.push((await row()).status);
    world.elapse(MAX_RETRY_DELAY_MS);
  }
  expect(new Set(seen)).toEqual(new Set(["provisioning", "offline"]));
  expect(seen.at(-1)).toBe("offline");
  const types = ["agent.disconnected", "agent.error", "agent.provision.failed"] as const;
  const events = await world.db
    .select()
    .from(activity_events)
    .where(and(eq(activity_events.agent_id, ann.id), inArray(activity_events.event_type, [...types])))
    .orderBy(asc(activity_events.event_type));
  expect(events.map(({ event_type }) => event_type)).toEqual(types);
});
