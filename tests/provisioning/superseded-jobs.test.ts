/** Tests jobs that are obsolete because their agent was changed again. */
import { agents } from "@board/core/schema/agent.sql";
import { enqueueProvision } from "@board/core/agent/jobs";
import { mintToken, tokenLookup } from "@board/core/agent/token";
import { transaction } from "@board/core/context/context";
import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import {
  addAgent,
  addCheckedInAgent,
  addEmptyBoard,
  getAgentRow,
  interceptHostCalls,
  changeAgent,
  createHostedWorld,
  getAgentJob,
  type NewAgent,
  tokensOf,
  listActivityTypes,
} from "../support/provisioning.ts";
import { setup } from "../support/fixtures.ts";

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(() => hosted.reset());

const row = (agent: NewAgent) => getAgentRow(world, agent.id);
const provisionOf = (agent: NewAgent) => getAgentJob(world, "agent.provision", agent.id);
const recordedEvents = (agent: NewAgent) => listActivityTypes(world, agent.id);
const addNew = async () => addAgent(world, home, await addEmptyBoard(world, home));

describe("a job whose agent changes while it runs", () => {
  const during = (method: string, meanwhile: () => Promise<unknown>) => {
    let done = false;
    return interceptHostCalls(world, async (name, call) => {
      if (name === method && !done) {
        done = true;
        await meanwhile();
      }
      return call();
    });
  };
  const move = (agent: NewAgent) => async () => {
    const { lifecycle_generation } = await row(agent);
    await world.db
      .update(agents)
      .set({ lifecycle_generation: lifecycle_generation + 1 })
      .where(eq(agents.id, agent.id));
  };

  test.each(["agents.files.set", "config.patch", "chat.send"])(
    "a job records nothing when its agent starts a new generation during %s",
    async (method) => {
      const ann = await addNew();
      const before = await row(ann);
      await deliver(during(method, move(ann))(), (await provisionOf(ann)).id);
      expect(await provisionOf(ann)).toMatchObject({ status: "done", secret_sealed: null });
      expect(await row(ann)).toMatchObject({ status: "provisioning", lifecycle_generation: 2 });
      expect((await row(ann)).agent_token_lookup).toBe(before.agent_token_lookup);
      expect(await recordedEvents(ann)).toEqual([]);
    },
  );

  test("a failure does not affect an agent that started a new generation during the job", async () => {
    const ann = await addNew();
    host.failNext("config.patch", { message: "no" });
    await deliver(during("config.patch", move(ann))(), (await provisionOf(ann)).id);
    expect(await row(ann)).toMatchObject({ status: "provisioning", last_provision_error: null });
    expect(await recordedEvents(ann)).toEqual([]);
  });

  test.each(["agents.create", "agents.files.set", "chat.send"])(
    "a job whose agent is deleted before %s ends without an error",
    async (method) => {
      const ann = await addNew();
      const { id } = await provisionOf(ann);
      world.log.length = 0;
      await deliver(during(method, () => world.db.delete(agents).where(eq(agents.id, ann.id)))(), id);
      const [job] = await world.db.select().from(jobs).where(eq(jobs.id, id));
      const complaints = world.log.filter(({ level }) => level === "warn" || level === "error");
      expect([job!.status, job!.secret_sealed, complaints]).toEqual(["done", null, []]);
    },
  );

  test("a job whose agent was deleted before it starts makes no request to the host", async () => {
    const ann = await addNew();
    const { id } = await provisionOf(ann);
    await world.db.delete(agents).where(eq(agents.id, ann.id));
    await deliver(world.context(), id);
    const [job] = await world.db.select().from(jobs).where(eq(jobs.id, id));
    expect([job!.status, host.calls]).toEqual(["done", []]);
  });

  test("an imported agent that is being deleted is not changed", async () => {
    const ann = await addNew();
    await world.db.update(agents).set({ status: "deleting" }).where(eq(agents.id, ann.id));
    await deliver(world.context(), (await provisionOf(ann)).id);
    expect([(await row(ann)).status, host.calls]).toEqual(["deleting", []]);
  });
});

describe("a job whose agent has moved", () => {
  let ann: NewAgent;
  beforeEach(async () => {
    ann = await addCheckedInAgent(hosted);
  });
  const updateOf = (agent: NewAgent) => getAgentJob(world, "agent.update", agent.id);
  const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, ann.id));
  /** Moves the agent to another gateway, as a change of its board does. */
  async function move(): Promise<string> {
    const body = { name: "Other", url: host.url, workspace_root: "/srv/agents", token: "test-token-123" };
    const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body;
    await set({ gateway_id: id, status: "provisioning", lifecycle_generation: 9 });
    return id;
  }

  test("an agent that has moved is not updated by a job for its old gateway", async () => {
    await changeAgent(hosted, ann);
    const { id } = await updateOf(ann);
    await move();
    host.calls.length = 0;
    await deliver(world.context(), id);
    expect([(await updateOf(ann)).status, host.calls, await row(ann)]).toMatchObject([
      "done",
      [],
      { status: "provisioning", lifecycle_generation: 9 },
    ]);
  });

  test("an agent that moves during an update is not changed by the update, whether it succeeds or fails", async () => {
    for (const failure of [null, { message: "no" }]) {
      await set({ gateway_id: home.gateway_id, status: "online", lifecycle_generation: 1 });
      await changeAgent(hosted, ann);
      const moving = interceptHostCalls(world, async (method, call) => {
        if (method === "sessions.reset") {
          await move();
          if (failure) host.failNext("sessions.reset", failure);
        }
        return call();
      });
      await deliver(moving(), (await updateOf(ann)).id);
      expect(await row(ann)).toMatchObject({ status: "provisioning", lifecycle_generation: 9, last_provision_error: null });
    }
    expect(await recordedEvents(ann)).toEqual([]);
  });

  test("an agent that moved away and back waits for the job that provisions it again", async () => {
    const auth_token = mintToken();
    await changeAgent(hosted, ann);
    const { id } = await updateOf(ann);
    await set({ status: "provisioning", lifecycle_generation: 3 });
    const options = { organization_id: home.organization_id, user_id: null, reset: true, auth_token };
    const agent = await row(ann);
    await transaction(world.context(), (ctx) => enqueueProvision(ctx, agent, options));
    await deliver(world.context(), id);
    expect(await row(ann)).toMatchObject({ status: "provisioning", lifecycle_generation: 3 });
    await world.drain();
    expect([(await row(ann)).agent_token_lookup, tokensOf(host, ann)]).toEqual([
      tokenLookup(world.settings.token_pepper, auth_token),
      [["AGENTS.md", auth_token]],
    ]);
  });
});
