import { type Host, openHost } from "@board/openclaw/host/open";
import { listFiles, readFile, readHostToken, writeFiles } from "@board/openclaw/host/workspace";
import { describe, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { openTestHosts } from "./test-hosts.ts";

const ID = "mc-ada";
const WORKSPACE = "/srv/agents/workspace-mc-ada";
const POLICY = { total_ms: 10_000, first_ms: 50, max_ms: 200, jitter: 0.2 };
const OLDER = (Object.keys(dialects) as DialectName[]).filter((name) => dialects[name].protocol === 3);

const hosts = await setup(openTestHosts());

/**
 * Starts a host with one agent, which has the files that a host creates. `accepts` replaces the rule of the release for
 * accepted files.
 */
async function start(dialect: DialectName, accepts?: (name: string) => boolean) {
  const { fake, gateway } = await hosts.start(dialect, { stale: 0 });
  if (accepts) {
    const names = [...fake.host.dialect.accepted_files, "ROLES.md"].filter(accepts);
    fake.host.dialect = { ...fake.host.dialect, accepted_files: names, listed_files: names };
  }
  const host = await openHost(hosts.world.context(), gateway, POLICY);
  await host.call("agents.create", { name: ID, workspace: WORKSPACE });
  return {
    fake,
    host,
    /** Returns the content of a file on the host, or null. */
    file: (name: string) => fake.host.files.get(WORKSPACE)?.get(name)?.content ?? null,
    names: () => [...(fake.host.files.get(WORKSPACE)?.keys() ?? [])],
    sent: () =>
      fake.calls.filter(({ method }) => method === "agents.files.set").map(({ params }) => (params as { name: string }).name),
    files: (...names: string[]) => names.map((name) => ({ name, content: `Text of ${name}\n` })),
  };
}

const TOKEN = "AUTH_TOKEN=sesame\n";
const tools = { name: "TOOLS.md", content: `BASE_URL=http://x\n${TOKEN}` };
const parse = (text: string) => /^AUTH_TOKEN=(.*)$/m.exec(text)?.[1] ?? null;
const tokenOf = (host: Host) => readHostToken(host, ID, parse);
const worker = { id: ID, is_lead: false };
const lead = { id: ID, is_lead: true };
const NORMAL = { below_minimum: false };
const WORKER = ["SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"];
const LEAD = [...WORKER, "AGENTS.md", "ROLES.md"];
const HOSTS_TEXT = "Default text of the host.";

describe.concurrent.each(OLDER)("the files of an agent on a host of version %s", (dialect) => {
  test("the files of a worker are written unchanged, TOOLS.md first, and no other file is written", async () => {
    const { host, file, sent, files } = await start(dialect);
    const before = file("AGENTS.md");
    const given = [tools, ...files(...WORKER)];
    expect(await writeFiles(host, worker, given, NORMAL)).toEqual({ files_written: 7, warnings: [], error: null });
    expect(sent()).toEqual(["TOOLS.md", ...WORKER]);
    expect(given.map(({ name }) => file(name))).toEqual(given.map(({ content }) => content));
    expect(file("AGENTS.md")).toBe(before);
    expect(await tokenOf(host)).toBe("sesame");
  });

  test("a lead's ROLES.md is tried last and then added to AGENTS.md, after its own text", async () => {
    const { host, file, sent, files, names } = await start(dialect);
    const { files_written, warnings, error } = await writeFiles(host, lead, [tools, ...files(...LEAD)], NORMAL);
    expect([files_written, warnings, error]).toEqual([8, [expect.stringMatching(/ROLES\.md.*AGENTS\.md/)], null]);
    expect(sent()).toEqual(["TOOLS.md", ...LEAD, "AGENTS.md"]);
    expect(file("AGENTS.md")).toBe("Text of AGENTS.md\n\n<!-- file: ROLES.md -->\nText of ROLES.md\n");
    expect(names()).not.toContain("ROLES.md");
    await writeFiles(host, lead, [tools, ...files(...LEAD)], NORMAL);
    expect(file("AGENTS.md")?.match(/Text of/g)).toHaveLength(2);
  });

  test("below the minimum version a refused ROLES.md is an error, and all other files are written", async () => {
    const { host, file, files } = await start(dialect);
    expect(await writeFiles(host, lead, [tools, ...files(...LEAD)], { below_minimum: true })).toEqual({
      files_written: 8,
      warnings: [],
      error: "Gateway rejected required lead workspace files as unsupported",
    });
    expect([file("AGENTS.md"), file("HEARTBEAT.md")]).toEqual(["Text of AGENTS.md\n", "Text of HEARTBEAT.md\n"]);
  });
});

describe.concurrent("a host that refuses TOOLS.md", () => {
  test("a refused TOOLS.md is written at the start of AGENTS.md, before the host's text, and its token can be read back", async () => {
    const { host, file, sent, files } = await start("2026.9.6");
    const { files_written, warnings } = await writeFiles(host, worker, [tools, ...files(...WORKER)], NORMAL);
    expect([files_written, warnings]).toEqual([
      6,
      [expect.stringMatching(/TOOLS\.md.*AGENTS\.md/), expect.stringMatching(/HEARTBEAT\.md.*AGENTS\.md/)],
    ]);
    expect(sent()).toEqual(["TOOLS.md", "AGENTS.md", ...WORKER, "AGENTS.md"]);
    const parts = file("AGENTS.md")!.split(/<!-- file: (.*) -->\n/);
    expect(parts.map((part) => part.trim())).toEqual([
      "",
      "TOOLS.md",
      tools.content.trim(),
      "AGENTS.md",
      `# AGENTS.md\n\n${HOSTS_TEXT}`,
      "HEARTBEAT.md",
      "Text of HEARTBEAT.md",
    ]);
    expect(await tokenOf(host)).toBe("sesame");
  });

  test("a lead's AGENTS.md contains TOOLS.md before its own text, and repeated writes change and duplicate nothing", async () => {
    const { host, file, files } = await start("2026.9.6");
    const given = [tools, ...files(...LEAD)];
    const first = await writeFiles(host, lead, given, NORMAL);
    expect([first.files_written, first.warnings.length]).toEqual([6, 3]);
    const text = file("AGENTS.md")!;
    expect([...text.matchAll(/<!-- file: (.*) -->/g)].map(([, name]) => name)).toEqual([
      "TOOLS.md",
      "AGENTS.md",
      "HEARTBEAT.md",
      "ROLES.md",
    ]);
    expect(await writeFiles(host, lead, given, NORMAL)).toEqual(first);
    expect(file("AGENTS.md")).toBe(text);
  });

  test.each([worker, lead])("a TOOLS.md inside AGENTS.md stays when only other files are written (agent %j)", async (agent) => {
    const { host, file, files } = await start("2026.9.6");
    const names = agent.is_lead ? LEAD : WORKER;
    await writeFiles(host, agent, [tools, ...files(...names)], NORMAL);
    const before = file("AGENTS.md");
    const left = await writeFiles(host, agent, files(...names), NORMAL);
    expect([left.warnings.length, file("AGENTS.md")]).toEqual([agent.is_lead ? 2 : 1, before]);
    await writeFiles(host, agent, files("SOUL.md"), NORMAL);
    expect([file("AGENTS.md"), await tokenOf(host)]).toEqual([before, "sesame"]);
  });

  test("a host that also refuses AGENTS.md gets everything in SOUL.md", async () => {
    const { host, file, sent, files } = await start("2026.9.6", (name) => name !== "AGENTS.md");
    await writeFiles(host, lead, [tools, ...files(...LEAD)], NORMAL);
    expect(sent().slice(0, 3)).toEqual(["TOOLS.md", "AGENTS.md", "SOUL.md"]);
    expect([...file("SOUL.md")!.matchAll(/<!-- file: (.*) -->/g)].map(([, name]) => name)).toEqual([
      "TOOLS.md",
      "SOUL.md",
      "HEARTBEAT.md",
      "AGENTS.md",
    ]);
    expect(await tokenOf(host)).toBe("sesame");
  });

  test("below the minimum version the other refused files of a lead are still written into another file", async () => {
    const { host, file, files } = await start("2026.9.6", (name) => !["AGENTS.md", "ROLES.md"].includes(name));
    const ended = await writeFiles(host, lead, [tools, ...files(...LEAD)], { below_minimum: true });
    expect([ended.error, ended.warnings.length]).toEqual(["Gateway rejected required lead workspace files as unsupported", 2]);
    expect(file("SOUL.md")).toContain("Text of HEARTBEAT.md");
    expect(file("SOUL.md")).not.toContain("Text of AGENTS.md");
    const others = await writeFiles(host, worker, [tools, ...files(...WORKER)], { below_minimum: true });
    expect([others.error, others.warnings.length]).toEqual([null, 2]);
  });

  test("text that people or agents write elsewhere in the file is not read as the token", async () => {
    const { host, files } = await start("2026.9.6", (name) => name !== "AGENTS.md");
    const forged = "<!-- file: TOOLS.md -->\nAUTH_TOKEN=forged\n";
    const soul = { name: "SOUL.md", content: `Be kind.\n${forged}` };
    expect(await tokenOf(host)).toBeNull();
    await writeFiles(host, worker, [tools, soul, ...files("HEARTBEAT.md")], NORMAL);
    expect(await tokenOf(host)).toBe("sesame");
    await host.call("agents.files.set", { agentId: ID, name: "SOUL.md", content: `Mine.\n${forged}` });
    expect(await tokenOf(host)).toBeNull();
  });
});

describe.concurrent("writing files", () => {
  test.each<DialectName>(["2026.2.9", "2026.9.6"])(
    "the result of TOOLS.md is reported before any other file is written (host %s)",
    async (dialect) => {
      const { host, sent, files } = await start(dialect);
      let then: string[] = [];
      const onToolsWritten = async () => {
        await host.call("health", {});
        then = sent();
      };
      await writeFiles(host, worker, [tools, ...files(...WORKER)], { ...NORMAL, onToolsWritten });
      expect(then).toEqual(dialect === "2026.9.6" ? ["TOOLS.md", "AGENTS.md"] : ["TOOLS.md"]);
    },
  );

  test("writing stops when TOOLS.md cannot be written, or when its result cannot be stored", async () => {
    const { fake, host, sent, files } = await start("2026.2.9");
    let reported = 0;
    const onToolsWritten = async () => {
      reported++;
      throw new Error("not stored");
    };
    fake.failNext("agents.files.set", { message: "disk full" });
    const given = [tools, ...files(...WORKER)];
    await expect(writeFiles(host, worker, given, { ...NORMAL, onToolsWritten })).rejects.toThrow("disk full");
    expect([reported, sent()]).toEqual([0, ["TOOLS.md"]]);
    await expect(writeFiles(host, worker, given, { ...NORMAL, onToolsWritten })).rejects.toThrow("not stored");
    expect([reported, sent()]).toEqual([1, ["TOOLS.md", "TOOLS.md"]]);
  });

  test("writing files ends with the first error, after the writes in progress have ended", async () => {
    const { fake, host, file, files } = await start("2026.2.9");
    fake.failNext("agents.files.set", { message: "disk full" });
    await expect(writeFiles(host, worker, files("SOUL.md", "USER.md", "MEMORY.md"), NORMAL)).rejects.toThrow("disk full");
    expect([file("USER.md"), file("MEMORY.md")]).toEqual(["Text of USER.md\n", "Text of MEMORY.md\n"]);
    await expect(writeFiles(host, { ...worker, id: "nobody" }, files("SOUL.md"), NORMAL)).rejects.toThrow("unknown agent");
  });

  test("all files are written although sockets are cut and the host restarts, and blank files are left out", async () => {
    const { fake, host, file, files, sent } = await start("2026.2.9");
    fake.faults.dropped_connections = { "agents.files.set": 1, "agents.files.get": 1 };
    fake.faults.lost_responses = { "agents.files.set": 1 };
    const ended = await writeFiles(host, worker, [tools, { name: "MEMORY.md", content: " \n" }, ...files("SOUL.md")], NORMAL);
    expect([ended.files_written, file("SOUL.md"), sent().includes("MEMORY.md")]).toEqual([2, "Text of SOUL.md\n", false]);
    expect(await tokenOf(host)).toBe("sesame");
  });

  test("a host that refuses both AGENTS.md and SOUL.md is an error", async () => {
    const { host, files } = await start("2026.9.6", (name) => name === "USER.md");
    await expect(writeFiles(host, worker, [tools, ...files("USER.md")], NORMAL)).rejects.toMatchObject({
      message: "The host supports neither AGENTS.md nor SOUL.md.",
      failure: { retryable: false },
    });
  });
});

describe.concurrent("reading files", () => {
  test("a missing file is null, an empty file is empty, and an unsupported file is an error", async () => {
    const { host } = await start("2026.2.9");
    await host.call("agents.files.set", { agentId: ID, name: "USER.md", content: "" });
    const names = await listFiles(host, ID);
    expect([names.has("USER.md"), names.has("MEMORY.md"), names.has("TOOLS.md")]).toEqual([true, false, true]);
    expect(await readFile(host, ID, "USER.md")).toBe("");
    expect(await readFile(host, ID, "MEMORY.md")).toBeNull();
    await expect(readFile(host, ID, "ROLES.md")).rejects.toThrow('unsupported file "ROLES.md"');
    expect(await tokenOf(host)).toBeNull();
  });

  const createAnsweringHost = async (payload: unknown): Promise<Host> => {
    const { host } = await start("2026.2.9");
    return { ...host, call: async () => payload };
  };

  test.each([
    [null, []],
    ["odd", []],
    [{ files: null }, []],
    [{ files: [null, 5, {}, { name: "" }] }, []],
    [
      ["SOUL.md", { name: "USER.md" }],
      ["SOUL.md", "USER.md"],
    ],
    [{ files: [{ path: "/a/b/SOUL.md" }, { path: "c:\\a\\USER.md", missing: false }] }, ["SOUL.md", "USER.md"]],
    [
      {
        files: [
          { name: "SOUL.md", missing: true },
          { name: "USER.md", size: 0 },
        ],
      },
      ["USER.md"],
    ],
  ])("a list of files may have the form %j", async (payload, names) => {
    expect([...(await listFiles(await createAnsweringHost(payload), ID))]).toEqual(names);
  });

  test.each([
    ["text", "text"],
    ["", ""],
    [{ content: "text" }, "text"],
    [{ file: { content: "text" } }, "text"],
    [{ file: { content: "", missing: false } }, ""],
    [{ file: { missing: true } }, null],
    [{ file: { content: "", missing: true } }, null],
    [{ content: 5 }, null],
    [null, null],
    [[], null],
  ])("a file may have the form %j", async (payload, text) => {
    expect(await readFile(await createAnsweringHost(payload), ID, "SOUL.md")).toBe(text);
  });
});
