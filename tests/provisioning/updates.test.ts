import { type AgentStatus, agents } from "@board/core/schema/agent.sql";
import { gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { and, eq, isNull } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { isAccepted } from "../support/http.ts";
import {
  addCheckedInAgent,
  getAgentRow,
  interceptHostCalls,
  callsOf,
  changeAgent,
  createHostedWorld,
  filesOf,
  getAgentJob,
  listAgentJobs,
  MAX_RETRY_DELAY_MS,
  messagesTo,
  SECOND_MS,
  stopHost,
  tokensOf,
  listActivityTypes,
} from "../support/provisioning.ts";
import { renew, setup } from "../support/fixtures.ts";

const ATTEMPTS = 8;

/** The agent's files on the host before the test. */
let files: Map<string, string>;

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(() => hosted.reset());
const ann = renew(() => addCheckedInAgent(hosted));
beforeEach(async () => {
  files = filesOf(host, ann);
});

const row = () => getAgentRow(world, ann.id);
const job = () => getAgentJob(world, "agent.update", ann.id);
const recordedEvents = () => listActivityTypes(world, ann.id);
const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, ann.id));

const UPDATED = ["agent.update.direct", "agent.wakeup.sent"];

describe("an update of an agent", () => {
  test("an update rewrites the files, resets the session and wakes the agent, whose token stays", async () => {
    await changeAgent(hosted, ann, { name: "Anna", identity_profile: { role: "Writer" } });
    await world.drain();
    expect(await job()).toMatchObject({ status: "done", attempts: 1 });
    expect(await row()).toMatchObject({
      status: "online",
      previous_status: null,
      lifecycle_generation: 2,
      last_provision_error: null,
    });
    expect(await recordedEvents()).toEqual(UPDATED);
    expect(filesOf(host, ann).get("IDENTITY.md")).toMatch(/Anna[^]*Writer/);
    expect([tokensOf(host, ann), await isAccepted(world, ann.auth_token)]).toEqual([[["AGENTS.md", ann.auth_token]], true]);
    expect(callsOf(host, "sessions.reset")).toEqual([{ key: ann.openclaw_session_id }]);
    expect(messagesTo(host, ann)).toMatchObject([{ message: expect.stringMatching(/Anna.*updated/), deliver: false }]);
  });

  test("an update keeps the files that belong to the agent, and writes BOOTSTRAP.md only on request", async () => {
    const own = host.host.files.get(`/srv/agents/workspace-mc-${ann.id}`)!;
    for (const name of ["MEMORY.md", "USER.md", "BOOTSTRAP.md"]) own.set(name, { content: "mine", updatedAtMs: 0 });
    await changeAgent(hosted, ann);
    await world.drain();
    for (const name of ["MEMORY.md", "USER.md", "BOOTSTRAP.md"]) expect(own.get(name)?.content, name).toBe("mine");
    await changeAgent(hosted, ann, {}, { force_bootstrap: true });
    await world.drain();
    expect([own.get("MEMORY.md")?.content, own.get("BOOTSTRAP.md")?.content]).toEqual(["mine", files.get("BOOTSTRAP.md")]);
  });

  test("an update writes a file that belongs to the agent, such as MEMORY.md, if the host has lost it", async () => {
    host.host.files.get(`/srv/agents/workspace-mc-${ann.id}`)!.delete("MEMORY.md");
    await changeAgent(hosted, ann);
    await world.drain();
    expect(filesOf(host, ann).get("MEMORY.md")).toBe(files.get("MEMORY.md"));
  });

  test("an update does not patch a configuration that is already correct", async () => {
    await changeAgent(hosted, ann);
    await world.drain();
    expect([callsOf(host, "config.patch"), callsOf(host, "agents.update")]).toEqual([[], []]);
  });

  test.each<[AgentStatus, number, AgentStatus, string[]]>([
    ["online", 540, "online", UPDATED],
    ["online", 601, "ready", UPDATED],
    ["ready", 30, "online", ["agent.connected", ...UPDATED]],
    ["offline", 601, "ready", UPDATED],
  ])("an update of an agent that is %s and was seen %i s ago leaves it %s", async (status, seconds, next, expected) => {
    await changeAgent(hosted, ann);
    await set({ status, last_seen_at: new Date(world.now().getTime() - seconds * SECOND_MS) });
    await world.drain();
    expect([(await row()).status, await recordedEvents()]).toEqual([next, expected]);
  });

  test("an agent is shown as updating, and its requests during the update keep this status", async () => {
    await set({ last_seen_at: null });
    await changeAgent(hosted, ann);
    const seen: unknown[] = [];
    const watching = interceptHostCalls(world, async (method, call) => {
      if (method === "agents.files.list") {
        await isAccepted(world, ann.auth_token);
        seen.push(await row());
      }
      return call();
    });
    await deliver(watching(), (await job()).id);
    expect(seen).toMatchObject([
      { status: "updating", previous_status: "online", lifecycle_generation: 2, last_seen_at: expect.any(Date) },
    ]);
    expect((await row()).status).toBe("online");
  });

  test("several waiting updates are all done, in their order", async () => {
    await changeAgent(hosted, ann, { identity_profile: { role: "First" } });
    await changeAgent(hosted, ann, { identity_profile: { role: "Second" } });
    await world.drain();
    expect(await listAgentJobs(world, "agent.update", ann.id)).toMatchObject([{ status: "done" }, { status: "done" }]);
    expect(filesOf(host, ann).get("IDENTITY.md")).toContain("Second");
    expect([(await row()).lifecycle_generation, messagesTo(host, ann).length]).toEqual([3, 2]);
  });
});

describe("an update that fails", () => {
  test.each<AgentStatus>(["online", "ready", "offline"])(
    "a failed update leaves an agent %s, after each attempt and after the last",
    async (status) => {
      await set({ status });
      await changeAgent(hosted, ann);
      await stopHost(world, host);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        await world.drain();
        const last_provision_error = expect.stringContaining("ECONNREFUSED");
        expect(await row(), `after attempt ${attempt}`).toMatchObject({ status, previous_status: null, last_provision_error });
        expect(await recordedEvents()).toEqual(attempt < ATTEMPTS ? [] : ["agent.update.failed", "agent.error"]);
        world.elapse(MAX_RETRY_DELAY_MS);
      }
      expect(await job()).toMatchObject({ status: "dead", attempts: ATTEMPTS });
    },
  );

  test("a failed update leaves the agent's token and files unchanged", async () => {
    await changeAgent(hosted, ann, { name: "Anna" });
    host.failNext("agents.update", { message: "no" });
    await world.drain();
    expect([(await job()).status, tokensOf(host, ann), await isAccepted(world, ann.auth_token)]).toEqual([
      "dead",
      [["AGENTS.md", ann.auth_token]],
      true,
    ]);
  });

  test("an update whose worker crashes is continued, and ends like any other", async () => {
    await changeAgent(hosted, ann);
    const { id } = await job();
    const crashing = interceptHostCalls(world, async (method, call) => {
      if (method === "sessions.reset") throw new Error("the worker is gone");
      return call();
    });
    await expect(deliver(crashing(), id)).rejects.toThrow("the worker is gone");
    expect(await row()).toMatchObject({ status: "updating", previous_status: "online" });
    await deliver(world.context(), id);
    expect([(await row()).status, await recordedEvents(), messagesTo(host, ann).length]).toEqual(["online", UPDATED, 1]);
  });
});

describe("the token on the host during an update", () => {
  const ADVICE = "(agent: Ann, run with rotate_tokens=true)";
  const overwrite = (content: string) =>
    host.host.files.get(`/srv/agents/workspace-mc-${ann.id}`)!.set("AGENTS.md", { content, updatedAtMs: 0 });

  test.each([
    ["that cannot be read", "nothing here", `unable to read AUTH_TOKEN from TOOLS.md ${ADVICE}`],
    [
      "that is not the agent's",
      `<!-- file: TOOLS.md -->\nAUTH_TOKEN=${"x".repeat(43)}`,
      `AUTH_TOKEN in TOOLS.md does not match ${ADVICE}`,
    ],
  ])("a token %s is kept, the other files are written, and the agent shows what to do", async (_what, content, error) => {
    overwrite(content);
    await changeAgent(hosted, ann, { identity_profile: { role: "Writer" } });
    await world.drain();
    expect(await row()).toMatchObject({ status: "online", last_provision_error: error });
    expect([filesOf(host, ann).get("IDENTITY.md"), await isAccepted(world, ann.auth_token)]).toEqual([
      expect.stringContaining("Writer"),
      true,
    ]);
    expect(await recordedEvents()).toEqual(UPDATED);
  });

  test("the token of an imported agent is recognized by its hash alone", async () => {
    await set({ agent_token_lookup: null });
    await changeAgent(hosted, ann);
    await world.drain();
    expect([(await row()).last_provision_error, tokensOf(host, ann)]).toEqual([null, [["AGENTS.md", ann.auth_token]]]);
  });

  test("a missing entry on the host is created again, with all files except TOOLS.md", async () => {
    const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
    await world.context().gateways.request(target, "agents.delete", { agentId: `mc-${ann.id}`, deleteFiles: true });
    await changeAgent(hosted, ann);
    await world.drain();
    expect(await row()).toMatchObject({ last_provision_error: expect.stringContaining("unable to read AUTH_TOKEN") });
    expect([tokensOf(host, ann), filesOf(host, ann).get("BOOTSTRAP.md")]).toEqual([[], files.get("BOOTSTRAP.md")]);
  });
});

describe("the main agent when its gateway changes", () => {
  const patch = (id: string, body: object) => world.call("PATCH", `/api/v1/gateways/${id}`, { token: home.owner.token, body });
  let id: string;
  const main = async () =>
    (
      await world.db
        .select()
        .from(agents)
        .where(and(eq(agents.gateway_id, id), isNull(agents.board_id)))
    )[0]!;

  beforeEach(async () => {
    const body = { name: "Rack", url: host.url, workspace_root: "/srv/agents", token: "test-token-123" };
    id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body.id;
    await world.drain();
    await world.db.delete(jobs);
    host.calls.length = 0;
    host.messages.length = 0;
  });
  const updates = async () => (await listAgentJobs(world, "agent.update", (await main()).id)).map(({ payload }) => payload);

  test("a new name of the gateway renames its main agent, which keeps its token and its session", async () => {
    const [[, token] = []] = tokensOf(host, await main());
    await patch(id, { name: "Shelf" });
    expect(await updates()).toMatchObject([{ reset: false, wake: true, force_bootstrap: false }]);
    await world.drain();
    expect(await main()).toMatchObject({ name: "Shelf Gateway Agent", lifecycle_generation: 2, last_provision_error: null });
    expect([tokensOf(host, await main())[0]?.[1], callsOf(host, "sessions.reset"), host.messages.length]).toEqual([token, [], 1]);
    expect(filesOf(host, await main()).get("IDENTITY.md")).toContain("Shelf Gateway Agent");
  });

  test("a new name of the gateway keeps a main agent's name that people have set", async () => {
    await world.db
      .update(agents)
      .set({ name: "Hub" })
      .where(eq(agents.id, (await main()).id));
    await patch(id, { name: "Shelf" });
    expect([(await main()).name, (await updates()).length]).toEqual(["Hub", 1]);
  });

  test.each([
    ["the gateway's root", { workspace_root: "/srv/others" }],
    ["the gateway's flags", { disable_device_pairing: true }],
    ["the gateway's token", { token: "another-token-1" }],
  ])("a change of %s updates the main agent", async (_what, body) => {
    await patch(id, body);
    expect(await updates()).toHaveLength(1);
  });

  test("a change without effect causes no update", async () => {
    const { name, url, workspace_root } = (await world.db.select().from(gateways).where(eq(gateways.id, id)))[0]!;
    const before = await main();
    for (const body of [{}, { name, url, workspace_root }, { token: "********-123" }, { sync_interval_minutes: 30 }])
      expect((await patch(id, body)).status).toBe(200);
    expect([await updates(), await main()]).toEqual([[], before]);
  });
});
