import { GatewayError } from "@board/openclaw/wire/gateway-error";
import { configureEntries } from "@board/openclaw/host/configure";
import { ensureEntry, listEntries, removeEntry } from "@board/openclaw/host/entries";
import { type Host, openHost } from "@board/openclaw/host/open";
import type { RetryPolicy } from "@board/openclaw/wire/retry";
import { acquireConfigLock } from "@board/openclaw/host/config-lock";
import { describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { agentsOf } from "../support/fake-gateway/config.ts";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { DIALECTS } from "../support/dialects.ts";
import { openTestHosts } from "./test-hosts.ts";

const QUICK: RetryPolicy = { total_ms: 10_000, first_ms: 50, max_ms: 200, jitter: 0.2 };
const WRITES = ["agents.create", "agents.update", "agents.delete", "config.patch"];

const hosts = await setup(openTestHosts());

async function start(dialect: DialectName) {
  const { fake, gateway } = await hosts.start(dialect, { restart_delay: 50 });
  return {
    fake,
    gateway,
    open: (policy = QUICK) => openHost(hosts.world.context(), gateway, policy),
    callsOf: (...methods: string[]) => fake.calls.filter(({ method }) => methods.includes(method)),
    /** Returns the agents of the host by id, as its configuration file has them. */
    roster: () =>
      new Map(agentsOf(fake.host.config.file(), fake.host.dialect).map(({ id, name, workspace }) => [id, { name, workspace }])),
    /** Calls the host as another client. */
    foreign: (method: string, params: object) => hosts.world.context().gateways.request(gateway.target, method, params),
  };
}

/** Returns the host with a shorter wait for the end of runs. */
const withShortWait = (host: Host): Host => ({ ...host, dialect: { ...host.dialect, abort_wait_ms: 100 } });
const entry = (id: string, name = "Ada Lovelace") => ({ id, name, workspace: `/srv/agents/workspace-${id}` });

describe.concurrent.each(DIALECTS)("the entry of an agent on a host of version %s", (dialect) => {
  test("a new entry gets its name and workspace, and a repeat writes nothing", async () => {
    const { open, callsOf, roster } = await start(dialect);
    const host = await open();
    const wanted = entry("mc-ada");
    expect(await ensureEntry(host, wanted, { create: false })).toBe("missing");
    expect(await ensureEntry(host, wanted, { create: true })).toBe("created");
    const [created, updated, ...more] = callsOf(...WRITES);
    expect([created, updated]).toMatchObject([
      { method: "agents.create", params: { name: "mc-ada", workspace: wanted.workspace } },
      { method: "agents.update", params: { agentId: "mc-ada", name: wanted.name, workspace: wanted.workspace } },
    ]);
    expect(updated!.at - created!.at).toBeGreaterThanOrEqual(host.dialect.config_write_spacing_ms || 745);
    expect(await ensureEntry(host, wanted, { create: true })).toBe("present");
    expect([more, callsOf(...WRITES).length]).toEqual([[], 2]);
    expect(roster().get("mc-ada")).toEqual({ name: wanted.name, workspace: wanted.workspace });
    expect(await listEntries(host)).toContainEqual(wanted);
  });

  test("a different name or workspace is corrected, and other entries stay unchanged", async () => {
    const { fake, open, callsOf, roster, foreign } = await start(dialect);
    await foreign("agents.create", { name: "mc-ada", workspace: "/elsewhere" });
    fake.host.config.reload();
    const host = await open();
    const present = await listEntries(host);
    const [wanted, before] = [entry("mc-ada"), roster()];
    expect(await ensureEntry(host, wanted, { create: false, present })).toBe("updated");
    expect(await ensureEntry(host, { ...wanted, workspace: "/srv/new" }, { create: false })).toBe("updated");
    expect(await ensureEntry(host, { ...wanted, workspace: "/srv/new/" }, { create: false })).toBe("present");
    expect(callsOf(...WRITES).map(({ method }) => method)).toEqual(["agents.create", "agents.update", "agents.update"]);
    expect(roster()).toEqual(before.set("mc-ada", { name: wanted.name, workspace: "/srv/new" }));
  });

  test("the entry survives restarts after writes, lost responses and cut sockets", async () => {
    const { fake, open, roster } = await start(dialect);
    fake.faults.restart_after_writes = true;
    fake.faults.lost_responses = { "agents.create": 1, "agents.update": 1, "agents.list": 1 };
    fake.faults.dropped_connections = { "agents.create": 1, "agents.update": 1, "config.get": 1 };
    const host = await open();
    const wanted = entry("mc-ada");
    expect(await ensureEntry(host, wanted, { create: true })).toBe("created");
    expect(roster().get("mc-ada")).toEqual({ name: wanted.name, workspace: wanted.workspace });
    fake.faults.lost_responses = { "chat.abort": 1, "agents.delete": 1, "sessions.delete": 1 };
    fake.faults.dropped_connections = { "agents.delete": 1 };
    await removeEntry(withShortWait(host), "agent:mc-ada:main");
    expect([...roster().keys()]).toEqual(["main"]);
  });

  test("a new agent that the host does not know yet is looked up again, but a missing older agent is reported at once", async () => {
    const { fake, open, callsOf, roster } = await start(dialect);
    fake.faults.unknown_after_create_ms = 1_600;
    const host = await open();
    expect(await ensureEntry(host, entry("mc-ada"), { create: true })).toBe("created");
    expect(callsOf("agents.update").length).toBeGreaterThan(1);
    expect(roster().get("mc-ada")?.name).toBe("Ada Lovelace");
    const asked = callsOf("agents.update").length;
    fake.failNext("agents.update", { message: 'agent "mc-ada" not found' });
    await expect(ensureEntry(host, entry("mc-ada", "Ada"), { create: true })).rejects.toThrow("not found");
    expect(callsOf("agents.update")).toHaveLength(asked + 1);
  });

  test("a removed agent loses its entry, files and session, a repeat succeeds, and the host's own entries stay", async () => {
    const { fake, open, callsOf, roster, foreign } = await start(dialect);
    const host = withShortWait(await open());
    await ensureEntry(host, entry("mc-ada"), { create: true });
    await foreign("sessions.patch", { key: "agent:mc-ada:main", label: "Ada" });
    await foreign("agents.files.set", { agentId: "mc-ada", name: "MEMORY.md", content: "Remember" });
    await removeEntry(host, "agent:mc-ada:main");
    await removeEntry(host, "agent:mc-ada:main");
    await removeEntry(host, "agent:main:main");
    expect([...roster().keys()]).toEqual(["main"]);
    expect(fake.host.files.has(entry("mc-ada").workspace)).toBe(false);
    expect(fake.host.sessions.has("agent:mc-ada:main")).toBe(false);
    expect(callsOf("agents.delete").map(({ params }) => params)).toEqual(Array(2).fill({ agentId: "mc-ada", deleteFiles: true }));
  });

  test("concurrent writes from several processes lose nothing and keep their spacing", async () => {
    const { open, callsOf, roster } = await start(dialect);
    const hosts = await Promise.all([1, 2].map(() => open({ ...QUICK, total_ms: 25_000 })));
    const wanted = ["mc-a", "mc-b", "mc-c"].map((one) => entry(one, `Agent ${one}`));
    await Promise.all(wanted.map((one, index) => ensureEntry(hosts[index % 2]!, one, { create: true })));
    expect(wanted.map((one) => roster().get(one.id))).toEqual(wanted.map(({ name, workspace }) => ({ name, workspace })));
    await Promise.all(wanted.map((one, index) => removeEntry(withShortWait(hosts[index % 2]!), `agent:${one.id}:main`)));
    expect([...roster().keys()]).toEqual(["main"]);
    const writes = callsOf(...WRITES).map(({ at }) => at);
    const closest = Math.min(...writes.slice(1).map((at, index) => at - writes[index]!));
    expect(writes.length).toBe(9);
    expect(closest).toBeGreaterThanOrEqual(hosts[0]!.dialect.config_write_spacing_ms - 5);
  });

  test("the runs of a working agent are aborted before it is deleted, so that the host does not crash", async () => {
    const { fake, open, roster, foreign } = await start(dialect);
    const host = await open();
    await ensureEntry(host, entry("mc-ada"), { create: true });
    fake.faults.run_ms = 60_000;
    fake.faults.abort_ms = 150;
    await foreign("chat.send", { sessionKey: "agent:mc-ada:main", message: "Work", idempotencyKey: "run-1" });
    await removeEntry(withShortWait(host), "agent:mc-ada:main");
    expect([...roster().keys()]).toEqual(["main"]);
    expect(await foreign("health", {})).toMatchObject({ ok: true });
  });

  test("a workspace in the host's own spelling counts as the same workspace", async () => {
    const { open, callsOf, roster } = await start(dialect);
    const host = await open();
    const wanted = { ...entry("mc-ada"), workspace: "~/agents/workspace-mc-ada" };
    expect(await ensureEntry(host, wanted, { create: true })).toBe("created");
    expect(roster().get("mc-ada")?.workspace).not.toContain("~");
    expect(await ensureEntry(host, wanted, { create: true })).toBe("present");
    const settings = { workspace: wanted.workspace };
    expect(await configureEntries(host, [{ id: "mc-ada", settings }])).toEqual([]);
    expect(callsOf("config.patch")).toEqual([]);
    expect(await ensureEntry(host, { ...wanted, workspace: "~/other/workspace-mc-ada" }, { create: true })).toBe("updated");
  });
});

describe.concurrent("writes that the host loses", () => {
  async function startWithOtherWriter() {
    const fixture = await start("2026.2.26");
    const { foreign, callsOf } = fixture;
    await foreign("agents.create", { name: "bystander", workspace: "/srv/bystander" });
    fixture.fake.host.config.reload();
    /** Makes another client write after each of the next calls of a method, based on the configuration before that call. */
    function writeAfter(method: string, times = 1): void {
      const seen = callsOf(method).length;
      const watch = setInterval(() => {
        if (callsOf(method).length === seen) return;
        clearInterval(watch);
        void foreign("agents.update", { agentId: "bystander", name: "Bystander" });
        if (times > 1) writeAfter(method, times - 1);
      }, 1);
    }
    return { ...fixture, overtake: writeAfter };
  }

  test("an entry that another client's write undid is written again", async () => {
    const { open, callsOf, roster, overtake } = await startWithOtherWriter();
    const host = await open();
    overtake("agents.create");
    expect(await ensureEntry(host, entry("mc-ada"), { create: true })).toBe("created");
    expect(callsOf("agents.create").length).toBe(3);
    overtake("agents.update");
    expect(await ensureEntry(host, entry("mc-ada", "Ada"), { create: true })).toBe("updated");
    expect(roster().get("mc-ada")?.name).toBe("Ada");
    overtake("agents.delete");
    await removeEntry(withShortWait(host), "agent:mc-ada:main");
    expect([...roster().keys()]).toEqual(["main", "bystander"]);
    expect(callsOf("agents.delete").length).toBe(2);
  });

  test("an entry that is undone again and again ends in a retryable error", async () => {
    const { open, callsOf, overtake } = await startWithOtherWriter();
    const host = await open();
    overtake("agents.create", 3);
    await expect(ensureEntry(host, entry("mc-ada"), { create: true })).rejects.toMatchObject({
      message: expect.stringContaining('lost the changes to agent "mc-ada"'),
      failure: { retryable: true },
    });
    expect(callsOf("agents.create").length).toBe(4);
  });
});

describe.concurrent("limits of working with a host", () => {
  const failure = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof GatewayError)) throw new Error(`Not a gateway's error: ${String(error)}`);
    return error;
  };

  test("an agent whose runs do not end is kept, and the next attempt may delete it", async () => {
    const { fake, open, callsOf, roster, foreign } = await start("2026.2.9");
    const host = await open();
    await ensureEntry(host, entry("mc-ada"), { create: true });
    Object.assign(fake.faults, { run_ms: 60_000, abort_ms: Number.POSITIVE_INFINITY });
    await foreign("chat.send", { sessionKey: "agent:mc-ada:main", message: "Work", idempotencyKey: "run-1" });
    expect(await failure(removeEntry(withShortWait(host), "agent:mc-ada:main"))).toMatchObject({ failure: { retryable: true } });
    expect([callsOf("agents.delete").length, roster().has("mc-ada")]).toEqual([0, true]);
  });

  test("a host that does not know a new agent is asked about the agent five times", async () => {
    const { fake, open, callsOf } = await start("2026.9.6");
    const host = await open();
    fake.failNext("agents.update", { message: 'agent "mc-ada" not found' }, 9);
    expect((await failure(ensureEntry(host, entry("mc-ada"), { create: true }))).message).toContain("not found");
    const at = callsOf("agents.update").map((call) => call.at);
    const waits = at.slice(1).map((one, index) => one - at[index]!);
    for (const [index, wait] of [500, 1_000, 2_000, 4_000].entries()) expect(waits[index]).toBeGreaterThanOrEqual(wait - 5);
    expect(at.length).toBe(5);
  });

  test("calls to an unreachable host are retried until the time limit, at the first contact and at every later call", async () => {
    const { fake, gateway, open } = await start("2026.2.9");
    const host = await open();
    const away = { id: gateway.id, target: { ...gateway.target, url: "ws://127.0.0.1:9" } };
    expect(await failure(openHost(hosts.world.context(), away, QUICK, { connect_ms: 200 }))).toMatchObject({
      message: expect.stringMatching(/during connect.*ECONNREFUSED/),
    });
    await fake.stop();
    const back = new Promise((resolve) => setTimeout(() => resolve(fake.start()), 400));
    expect(await host.call("health", {})).toMatchObject({ ok: true });
    await back;
    fake.faults.dropped_connections = { "agents.list": 1_000 };
    const limited = await open({ ...QUICK, total_ms: 300 });
    const error = await failure(limited.call("agents.list", {}, { step: "listing agents" }));
    expect(error.message).toContain("during listing agents");
  });

  test("a configuration that others keep writing to is reported as busy", async () => {
    const { gateway, open, callsOf } = await start("2026.9.6");
    const host = await open({ ...QUICK, total_ms: 300 });
    const holder = await acquireConfigLock(hosts.world.context(), gateway.id, { wait_ms: 0 });
    const patch = configureEntries(host, [{ id: "mc-ada", settings: { workspace: "/srv/ada" } }]);
    expect(await failure(patch)).toMatchObject({
      message: expect.stringContaining("configuration is busy"),
      failure: { retryable: true },
    });
    expect((await failure(ensureEntry(host, entry("mc-ada"), { create: true }))).message).toContain("configuration is busy");
    await holder.release(0);
    expect(callsOf(...WRITES)).toEqual([]);
  });

  test("reading a host does not make the next writer wait", async () => {
    const { open } = await start("2026.2.26");
    const host = await open();
    await host.withConfigLock(() => host.call("agents.list", {}));
    await (await acquireConfigLock(hosts.world.context(), host.gateway_id, { wait_ms: 0 })).release(0);
    await expect(host.withConfigLock(() => host.call("agents.delete", { agentId: "nobody" }))).rejects.toThrow("not found");
    await expect(acquireConfigLock(hosts.world.context(), host.gateway_id, { wait_ms: 0 })).rejects.toThrow("busy");
  });

  test.each([
    [null, []],
    ["odd", []],
    [{ agents: null }, []],
    [{ agents: [null, 5, {}, { id: "" }, { name: "Nobody" }] }, []],
    [[{ id: "a", workspace: "/a", name: " Ada " }], [{ id: "a", name: "Ada", workspace: "/a" }]],
    [{ agents: ["a"] }, [{ id: "a", name: null, workspace: "/configured" }]],
    [{ agents: [{ agentId: "b" }] }, [{ id: "b", name: null, workspace: null }]],
    [{ agents: { a: { name: "Ada" } } }, [{ id: "a", name: "Ada", workspace: "/configured" }]],
  ])("a list of agents may have the form %j", async (payload, entries) => {
    const { open } = await start("2026.9.6");
    const host = await open();
    const config = { config: { agents: { list: [{ id: "a", workspace: "/configured" }, { id: "b" }] } } };
    const odd: Host = { ...host, call: async (method) => (method === "config.get" ? config : payload) };
    expect(await listEntries(odd)).toEqual(entries);
  });
});
