import { agents } from "@board/core/schema/agent.sql";
import { deliver } from "@board/api/work/handlers";
import { scheduled } from "@board/api/work/schedules";
import { and, eq, isNull } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { isAccepted } from "../support/http.ts";
import {
  addAgent,
  addCheckedInAgent,
  addEmptyBoard,
  callsOf,
  createHostedWorld,
  filesOf,
  getAgentJob,
  getAgentRow,
  interceptHostCalls,
  listActivityTypes,
  listAgentJobs,
  MAX_RETRY_DELAY_MS,
  messagesTo,
  type NewAgent,
  SECOND_MS,
  stopHost,
  tokensOf,
} from "../support/provisioning.ts";

const ATTEMPTS = 8;

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(() => hosted.reset());

const rotate = async ({ id }: NewAgent) => {
  const answer = await world.call("POST", `/api/v1/agents/${id}/token`, { token: home.owner.token });
  expect([answer.status, answer.body]).toEqual([200, { agent_id: id, auth_token: null }]);
};
const tokenOn = (agent: NewAgent) => tokensOf(host, agent)[0]?.[1];
const addNew = async () => addAgent(world, home, await addEmptyBoard(world, home));

describe("rotating the token of an agent on a host", () => {
  test("the old token stops at once, and the host gets the new token, a new session and a wake-up", async () => {
    const ann = await addCheckedInAgent(hosted);
    const own = host.host.files.get(`/srv/agents/workspace-mc-${ann.id}`)!;
    own.set("MEMORY.md", { content: "mine", updatedAtMs: 0 });
    await rotate(ann);
    expect(await isAccepted(world, ann.auth_token)).toBe(false);
    await world.drain();
    const token = tokenOn(ann)!;
    expect(token).not.toBe(ann.auth_token);
    expect([await isAccepted(world, token), await isAccepted(world, ann.auth_token)]).toEqual([true, false]);
    expect(filesOf(host, ann).get("MEMORY.md")).toBe("mine");
    expect([callsOf(host, "sessions.reset").length, messagesTo(host, ann).length]).toEqual([1, 1]);
    expect(await getAgentRow(world, ann.id)).toMatchObject({ status: "online", last_provision_error: null });
    expect(await getAgentJob(world, "agent.update", ann.id)).toMatchObject({ status: "done", secret_sealed: null });
    expect(await listActivityTypes(world, ann.id)).toEqual(["agent.token.rotated", "agent.update.direct", "agent.wakeup.sent"]);
  });

  test("of two rotations before the host is reached, only the last token ever works again", async () => {
    const ann = await addCheckedInAgent(hosted);
    await rotate(ann);
    const first = await getAgentRow(world, ann.id);
    await rotate(ann);
    const last = await getAgentRow(world, ann.id);
    expect(first.agent_token_lookup).not.toBe(last.agent_token_lookup);
    await world.drain();
    expect((await getAgentRow(world, ann.id)).agent_token_lookup).toBe(last.agent_token_lookup);
    expect(await isAccepted(world, tokenOn(ann)!)).toBe(true);
  });

  test("an agent whose host was down until the last attempt of the job gets another token when the host is back", async () => {
    const ann = await addCheckedInAgent(hosted);
    await rotate(ann);
    await stopHost(world, host);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await world.drain();
      world.elapse(MAX_RETRY_DELAY_MS);
    }
    expect(await getAgentJob(world, "agent.update", ann.id)).toMatchObject({ status: "dead", secret_sealed: null });
    await host.start();
    await scheduled.probe(world.context());
    world.elapse(61 * SECOND_MS);
    await world.drain();
    expect(await isAccepted(world, tokenOn(ann)!)).toBe(true);
    expect(await getAgentRow(world, ann.id)).toMatchObject({ status: "online", last_provision_error: null });
  });
});

describe("rotating the token of an agent that is being created on its host", () => {
  test("if the token is rotated before the creation has begun, the host gets only the new token, and all files of a first start", async () => {
    const ann = await addNew();
    await rotate(ann);
    await world.drain();
    const token = tokenOn(ann)!;
    expect([await isAccepted(world, token), await isAccepted(world, ann.auth_token)]).toEqual([true, false]);
    expect((await listAgentJobs(world, "agent.provision", ann.id)).map(({ status }) => status)).toEqual(["done", "done"]);
    expect(callsOf(host, "agents.files.set").map(({ name }) => name)).toContain("BOOTSTRAP.md");
    expect((await getAgentRow(world, ann.id)).status).toBe("online");
  });

  test("a rotation while the creation writes the first token to the host leaves the first token invalid", async () => {
    const ann = await addNew();
    let isRotated = false;
    const rotating = interceptHostCalls(world, async (method, call) => {
      if (method === "agents.files.set" && !isRotated) {
        isRotated = true;
        await rotate(ann);
      }
      return call();
    });
    await deliver(rotating(), (await getAgentJob(world, "agent.provision", ann.id)).id);
    expect(await isAccepted(world, ann.auth_token)).toBe(false);
    await world.drain();
    expect([await isAccepted(world, tokenOn(ann)!), await isAccepted(world, ann.auth_token)]).toEqual([true, false]);
  });
});

test("the token of a main agent is rotated like any other", async () => {
  const isMain = and(eq(agents.gateway_id, home.gateway_id), isNull(agents.board_id));
  const [main] = (await world.db.select().from(agents).where(isMain)) as unknown as [NewAgent];
  await rotate(main);
  await world.drain();
  const health = await world.call("GET", "/api/v1/agent/healthz", { agent: tokenOn(main)! });
  expect(health.body).toMatchObject({ agent_id: main.id });
});
