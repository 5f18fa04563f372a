import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { LookupLimitError } from "@board/core/dns/address";
import { createNameResolver, type ResolverOptions } from "@board/core/dns/resolver";
import { describe, expect, test, type TestContext } from "vitest";
import { type Records, type RecordType, startNameServer } from "../support/name-server.ts";

const A = { organization_id: "organization A" };
const B = { organization_id: "organization B" };
const ADDRESS = { address: "203.0.113.7", family: 4 };

type Find = (name: string, type: RecordType) => Records;
const byName: Find = (name) => (name.startsWith("slow") ? "silent" : name.startsWith("good") ? ["203.0.113.7"] : "missing");
const noSystem = () => Promise.reject(new Error("The operating system was asked."));

/** Starts a name server and makes resolvers for it. Each test has separate ones, because tests run at the same time. */
async function startNames({ onTestFinished }: Pick<TestContext, "onTestFinished">, find: Find = byName) {
  const records = { find };
  const server = await startNameServer((name, type) => records.find(name, type));
  const folder = mkdtempSync(path.join(tmpdir(), "dns-"));
  const files = { hosts: path.join(folder, "hosts"), resolv_conf: path.join(folder, "resolv.conf") };
  onTestFinished(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const createResolver = (options: ResolverOptions = {}) =>
    createNameResolver({ servers: [server.address], files, askSystem: noSystem, ...options });
  /** Returns the names that were queried since the last call. */
  const takeNames = () => [...new Set(server.queries.splice(0).map((query) => query.slice(query.indexOf(" ") + 1)))].toSorted();
  return { records, server, files, createResolver, takeNames };
}

/** Returns the result of a look-up: its addresses, or its error. */
const outcomeOf = (lookup: Promise<unknown>) => lookup.catch((error: unknown) => error);
const failedWith = (code: string) => expect.objectContaining({ code, message: expect.not.stringContaining("organization") });

describe.concurrent("slow name servers", () => {
  test("silent name servers of one organization's hosts do not delay the names of other organizations", async (context) => {
    const { createResolver } = await startNames(context);
    const resolve = createResolver();
    const slow = Array.from({ length: 40 }, (_, number) => outcomeOf(resolve(`slow-${number}.example`, A)));
    expect(await resolve("good.example", B)).toEqual([ADDRESS]);
    expect(await slow[0]).toEqual(failedWith("EAI_AGAIN"));
    await Promise.all(slow);
  });

  test("an organization that has used up its look-ups is refused until some of them have ended", async (context) => {
    const { createResolver, takeNames } = await startNames(context);
    const resolve = createResolver({ organization_lookups: 2 });
    const names = ["slow-1.example", "slow-2.example", "slow-3.example", "good.example"];
    const [first, second, ...others] = await Promise.all(names.map((name) => outcomeOf(resolve(name, A))));
    expect([first, second]).toEqual([failedWith("EAI_AGAIN"), failedWith("EAI_AGAIN")]);
    expect(others).toEqual([expect.any(LookupLimitError), expect.any(LookupLimitError)]);
    expect(takeNames()).toEqual(["slow-1.example", "slow-2.example"]);
    expect(await resolve("good.example", A)).toEqual([ADDRESS]);
  });

  test("the names of a burst beyond the budget are looked up one after the other", async (context) => {
    const { createResolver } = await startNames(context);
    const resolve = createResolver({ organization_lookups: 2 });
    const burst = Array.from({ length: 20 }, (_, number) => resolve(`good-${number}.example`, A));
    expect(await Promise.all(burst)).toEqual(burst.map(() => [ADDRESS]));
  });

  test.each([
    ["a budget of 0", 0, A],
    ["the service itself, which is no organization,", 1, {}],
  ])("%s has no limit of look-ups", async (_what, organization_lookups, owner) => {
    const asked = new Set<string>();
    const names = Array.from({ length: 10 }, (_, number) => `slow-${number}.example`);
    const server = await startNameServer((name) => {
      asked.add(name);
      return "silent";
    });
    const resolve = createNameResolver({ servers: [server.address], organization_lookups, askSystem: noSystem });
    await Promise.all(names.map((name) => outcomeOf(resolve(name, owner))));
    expect([...asked].toSorted()).toEqual(names);
    await server.close();
  });

  test("a name whose name servers did not answer is not looked up again at once, and is not given to the operating system", async (context) => {
    const { createResolver, takeNames } = await startNames(context);
    const resolve = createResolver();
    expect(await outcomeOf(resolve("slow.example", { ...A, asks_system: true }))).toEqual(failedWith("EAI_AGAIN"));
    // The look-up continues after the error was returned, and its last query may arrive during this pause.
    await pause(500);
    expect(takeNames()).toEqual(["slow.example"]);
    expect(await outcomeOf(resolve("slow.example", { ...B, asks_system: true }))).toEqual(failedWith("EAI_AGAIN"));
    expect(takeNames()).toEqual([]);
  });

  test("a name is found for other organizations even while an organization beyond its budget waits to look it up", async (context) => {
    const { createResolver } = await startNames(context);
    const resolve = createResolver({ organization_lookups: 1 });
    const slow = outcomeOf(resolve("slow.example", A));
    const waiting = outcomeOf(resolve("good.example", A));
    expect(await resolve("good.example", B)).toEqual([ADDRESS]);
    await Promise.all([slow, waiting]);
  });

  test.each(["A", "AAAA"] as const)("a name is found although queries of type %s get no answer", async (silentType) => {
    const server = await startNameServer((_name, type) => (type === silentType ? "silent" : ["203.0.113.7", "2001:db8::7"]));
    const resolve = createNameResolver({ servers: [server.address], askSystem: noSystem });
    expect(await resolve("good.example")).toEqual([silentType === "A" ? { address: "2001:db8::7", family: 6 } : ADDRESS]);
    await server.close();
  });
});

describe("answers of name servers", () => {
  test("simultaneous look-ups of the same name share their queries", async (context) => {
    const { createResolver, server } = await startNames(context);
    const resolve = createResolver();
    await Promise.all([resolve("good.example", A), resolve("good.example", A), resolve("good.example", B)]);
    expect(server.queries.toSorted()).toEqual(["A good.example", "AAAA good.example"]);
  });

  test("both families of addresses are found, IPv4 first", async (context) => {
    const { createResolver } = await startNames(context, () => ["2001:db8::7", "203.0.113.7"]);
    expect(await createResolver()("good.example")).toEqual([ADDRESS, { address: "2001:db8::7", family: 6 }]);
  });

  test("a name with many addresses uses the first sixteen", async (context) => {
    const addresses = Array.from({ length: 29 }, (_, number) => `203.0.113.${number}`);
    const { createResolver } = await startNames(context, () => addresses);
    const found = await createResolver()("good.example");
    expect(found.map(({ address }) => address)).toEqual(addresses.slice(0, 16));
  });

  test.each([
    ["ENOTFOUND", "does not exist", "missing"],
    ["ENOTFOUND", "has no address", []],
    ["EAI_AGAIN", "cannot be looked up now", "failed"],
  ] as const)("the error %s means that a name %s", async (code, _what, records) => {
    const server = await startNameServer(() => records);
    expect(await outcomeOf(createNameResolver({ servers: [server.address] })("host.example"))).toEqual(failedWith(code));
    await server.close();
  });

  test.each(["", ".", "a..b", `${"a".repeat(64)}.example`, `${"a.".repeat(150)}example`, "\0.example"])(
    "the name %j is not found",
    async (name) => {
      const server = await startNameServer(() => "missing");
      expect(await outcomeOf(createNameResolver({ servers: [server.address] })(name))).toEqual(failedWith("ENOTFOUND"));
      await server.close();
    },
  );
});

describe("the network configuration of the machine", () => {
  test("the hosts file decides before name servers do, and is read again when it changes", async (context) => {
    const { createResolver, takeNames, files } = await startNames(context);
    const resolve = createResolver();
    expect(await resolve("good.example")).toEqual([ADDRESS]);
    takeNames();
    const lines = [
      "# comment",
      "10.0.0.5\tGood.Example. other.example # good-2.example",
      "fd00::5 good.example",
      "bad good.example",
    ];
    writeFileSync(files.hosts, lines.join("\r\n"));
    expect(await resolve("good.example")).toEqual([
      { address: "10.0.0.5", family: 4 },
      { address: "fd00::5", family: 6 },
    ]);
    expect(takeNames()).toEqual([]);
    expect(await resolve("good-2.example")).toEqual([ADDRESS]);
    writeFileSync(files.hosts, "10.0.0.9 good.example");
    expect(await resolve("good.example")).toEqual([{ address: "10.0.0.9", family: 4 }]);
    rmSync(files.hosts);
    expect(await resolve("good.example")).toEqual([ADDRESS]);
  });

  test("a short name inside a cluster resolves to the cluster's service, not to a public domain", async (context) => {
    const { createResolver, takeNames, records, files } = await startNames(context, (name) =>
      name === "gateway.dev.svc.cluster.example" ? ["10.0.0.6"] : ["203.0.113.7"],
    );
    writeFileSync(
      files.resolv_conf,
      "domain old.example\nsearch svc.cluster.example cluster.example\noptions attempts:2 ndots:5\n",
    );
    const resolve = createResolver();
    expect(await resolve("gateway.dev")).toEqual([{ address: "10.0.0.6", family: 4 }]);
    takeNames();
    records.find = (name) => (name === "a.b.c.d.e.example" ? ["203.0.113.7"] : "missing");
    expect(await resolve("a.b.c.d.e.example")).toEqual([ADDRESS]);
    expect(takeNames()).toEqual(["a.b.c.d.e.example"]);
  });

  test("a name with a dot is first looked up as it is, and a name without a dot with the search domain", async (context) => {
    const { createResolver, server, files } = await startNames(context, () => "missing");
    writeFileSync(files.resolv_conf, "search corp.example");
    const resolve = createResolver();
    await outcomeOf(resolve("host.dev"));
    await outcomeOf(resolve("host"));
    expect(server.queries.filter((query) => query.startsWith("A "))).toEqual([
      "A host.dev",
      "A host.dev.corp.example",
      "A host.corp.example",
      "A host",
    ]);
  });
});

describe("the operating system", () => {
  const FOUND = [{ address: "127.0.0.1", family: 4 }];

  test("the operating system is asked only for names that the operator allows and that name servers do not know", async (context) => {
    const asked: string[] = [];
    const askSystem = async (hostname: string) => (asked.push(hostname), FOUND);
    const { createResolver } = await startNames(context);
    const resolve = createResolver({ askSystem });
    expect(await outcomeOf(resolve("chosen-by-tenant.example", A))).toEqual(failedWith("ENOTFOUND"));
    expect(await resolve("good.example", { ...A, asks_system: true })).toEqual([ADDRESS]);
    expect(asked).toEqual([]);
    expect(await resolve("mini.local", { ...A, asks_system: true })).toEqual(FOUND);
    expect(await resolve("localhost", A)).toEqual(FOUND);
    expect(asked).toEqual(["mini.local", "localhost"]);
  });

  test("the operating system is asked for one name at a time, each once, while name servers answer for others", async (context) => {
    const asked: string[] = [];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const askSystem = async (hostname: string) => {
      asked.push(hostname);
      await released;
      return FOUND;
    };
    const { createResolver } = await startNames(context);
    const resolve = createResolver({ askSystem });
    const lookUp = (name: string) => outcomeOf(resolve(name, { ...A, asks_system: true }));
    const names = ["one.local", "two.local"];
    expect(await Promise.all(names.map(lookUp))).toEqual(names.map(() => failedWith("EAI_AGAIN")));
    const later = [lookUp("one.local"), lookUp("two.local")];
    expect(await resolve("good.example", { ...B, asks_system: true })).toEqual([ADDRESS]);
    expect(asked).toEqual(["one.local"]);
    release();
    expect(await Promise.all(later)).toEqual([FOUND, FOUND]);
    expect(asked).toEqual(["one.local", "two.local"]);
  });
});
