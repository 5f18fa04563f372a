import { agents, jobs } from "@board/core/schema/all-tables";
import { hostLane } from "@board/core/values/session-key";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { setupHostedTenants } from "../support/gateway-fixture.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";

const { world, host, home } = await setupHostedTenants();

const removeLead = () => world.db.delete(agents).where(eq(agents.id, home.lead.id));
const moveWorker = async () => {
  const { board_id } = await addBoard(world, home);
  await world.db.update(agents).set({ board_id }).where(eq(agents.id, home.worker.id));
};

/** Posts a payload and delivers its job; returns the lane of the job and the session that got the message. */
async function notify(agent_id: string | null, change: () => Promise<unknown> = async () => {}) {
  const webhook = await createWebhook(world, home, { agent_id });
  await change();
  const payload_id = await postPayload(world, webhook);
  const [job] = await world.db.select().from(jobs).where(sql`payload ->> 'payload_id' = ${payload_id}`);
  await world.drain();
  return { lane: job!.lane, receivers: host.messages.map(({ session_key }) => session_key) };
}

const laneAndReceiver = (session_key: string) => ({ lane: hostLane(home.gateway_id, session_key), receivers: [session_key] });

test("the named agent receives a notification, through its own lane", async () => {
  expect(await notify(home.worker.id)).toEqual(laneAndReceiver(home.worker.session_key));
});

test("the lead receives a notification through its own lane when the named agent has moved", async () => {
  expect(await notify(home.worker.id, moveWorker)).toEqual(laneAndReceiver(home.lead.session_key));
});

test("the lead receives a notification through its own lane when no agent is named", async () => {
  expect(await notify(null)).toEqual(laneAndReceiver(home.lead.session_key));
});

test("a notification without a target has no receiver and uses no agent's lane", async () => {
  const { lane, receivers } = await notify(home.worker.id, async () => {
    await moveWorker();
    await removeLead();
  });
  expect(receivers).toEqual([]);
  expect([home.lead, home.worker].map(({ session_key }) => hostLane(home.gateway_id, session_key))).not.toContain(lane);
});
