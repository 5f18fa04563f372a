/** Runs the commands of agents' files the way an agent's host runs them. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { endpoints } from "@board/api/groups";
import { agents } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { shellBlocksOf, filesOnRestrictedHost, hasTools, runCommand, createWorkspace } from "./shell-commands.ts";
import {
  compareByAddress,
  type Files,
  expectedIndex,
  expectedBoardLookup,
  openAgentFilesFixture,
  parseTsv,
} from "./agent-files.ts";
import { setup } from "../support/fixtures.ts";
import { serve } from "../support/serve.ts";
import { ROLES } from "./subject-fixture.ts";

const fixture = await setup(openAgentFilesFixture());

/** Hosts that accept every file, and hosts that carry some files in AGENTS.md, where an outdated TOOLS.md may still exist. */
const HOSTS: [string, (files: Files) => Partial<Files>][] = [
  ["takes every file", (all) => all],
  [
    "refuses TOOLS.md, HEARTBEAT.md and ROLES.md",
    (all) => ({
      ...filesOnRestrictedHost(all, ["TOOLS.md", "HEARTBEAT.md", "ROLES.md"]),
      "TOOLS.md": "BASE_URL=http://127.0.0.1:9\nAUTH_TOKEN=old",
    }),
  ],
];

describe.skipIf(!hasTools).each(HOSTS)("with sh, curl and jq, on a host that %s,", (_host, layout) => {
  test.each(ROLES)("with the commands of TOOLS.md, a %s finds its operations and calls one", async (role) => {
    const workspace = createWorkspace(layout(fixture.files[role]));
    const blocks = shellBlocksOf(fixture.files[role]["TOOLS.md"]);
    const runBlock = async (block: string) => {
      const { code, stdout, stderr } = await runCommand(workspace, block);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    expect(await runBlock(blocks[0]!)).toBe("");
    expect(JSON.parse(readFileSync(path.join(workspace, "openapi.json"), "utf8"))).toEqual(fixture.document);
    expect(parseTsv(await runBlock(blocks[1]!)).toSorted(compareByAddress)).toEqual(expectedIndex(role, fixture.document));
    expect(JSON.parse(await runBlock(blocks[2]!))).toMatchObject(expectedBoardLookup(fixture.document));
    const [answer = "", status] = (await runBlock(blocks[3]!)).trimEnd().split("\n");
    expect(status).toBe("HTTP 200");
    expect(JSON.parse(answer)).toMatchObject({ ok: true, agent_id: fixture.actors[role].id });
    await runBlock(blocks[4]!);
    expect(JSON.parse(readFileSync(path.join(workspace, "body.json"), "utf8"))).toEqual({ content: "It's done" });
    expect(blocks).toHaveLength(role === "main" ? 6 : 5);
  });

  test("a main agent checks in by the commands of its files", async () => {
    const { code, stdout, stderr } = await runCommand(
      createWorkspace(layout(fixture.files.main)),
      shellBlocksOf(fixture.files.main["TOOLS.md"])[5]!,
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ agent: { id: fixture.actors.main.id, board_id: null, status: "online" } });
  });

  test.each(["lead", "worker"] as const)("a %s completes BOOTSTRAP.md without help", async (role) => {
    await fixture.world.db
      .update(agents)
      .set({ status: "provisioning", last_seen_at: null })
      .where(eq(agents.id, fixture.actors[role].id));
    const workspace = createWorkspace(layout(fixture.files[role]));
    for (const block of shellBlocksOf(fixture.files[role]["BOOTSTRAP.md"])) {
      const { code, stderr } = await runCommand(workspace, block);
      expect([code, stderr], block).toEqual([0, ""]);
    }
    const [seen] = await fixture.world.db.select().from(agents).where(eq(agents.id, fixture.actors[role].id));
    expect(seen).toMatchObject({ status: "online" });
    expect(existsSync(path.join(workspace, "BOOTSTRAP.md"))).toBe(false);
    const [note = "", ...others] = readdirSync(path.join(workspace, "memory"));
    expect(note).toMatch(/^\d{4}-\d{2}-\d{2}\.md$/);
    expect(others).toEqual([]);
    expect(readFileSync(path.join(workspace, "memory", note), "utf8")).toMatch(/^# \d{4}-\d{2}-\d{2}\n\n- First start/);
    expect(readFileSync(path.join(workspace, "MEMORY.md"), "utf8")).toContain(fixture.files[role]["MEMORY.md"]);
  });
});

/** Runs a heartbeat with a token. Its requests are answered by `respond`, and their paths are returned too. */
async function runHeartbeat(
  role: "lead" | "worker",
  {
    token = fixture.actors[role].token,
    respond = fixture.world.app.fetch,
  }: { token?: string; respond?: Parameters<typeof serve>[0] } = {},
) {
  const paths: string[] = [];
  const host = await serve((request) => {
    paths.push(new URL(request.url).pathname);
    return respond(request);
  });
  const tools = fixture.files[role]["TOOLS.md"].replace(fixture.actors[role].token, token).replace(fixture.url, host.url);
  const workspace = createWorkspace({ ...fixture.files[role], "TOOLS.md": tools });
  const ended = await runCommand(workspace, shellBlocksOf(fixture.files[role]["HEARTBEAT.md"])[0]!);
  await host.close();
  return { ...ended, paths };
}

/** The requests of a heartbeat with work, in this order. */
const CALLS = ["/inbox", "/healthz", "/boards", "/tasks"];

describe.skipIf(!hasTools)("with sh, curl and jq", () => {
  test("a repeated start of an agent creates MEMORY.md once and keeps the note of the day", async () => {
    const workspace = createWorkspace(fixture.files.worker);
    const blocks = shellBlocksOf(fixture.files.worker["BOOTSTRAP.md"]).slice(0, -1);
    for (const block of [...blocks, ...blocks]) expect((await runCommand(workspace, block)).code).toBe(0);
    expect(readFileSync(path.join(workspace, "MEMORY.md"), "utf8").match(/^Begun on/gm)).toHaveLength(1);
    const [note = ""] = readdirSync(path.join(workspace, "memory"));
    expect(readFileSync(path.join(workspace, "memory", note), "utf8").match(/^# /gm)).toHaveLength(1);
  });

  test.each(["TOOLS.md", "ROLES.md", "USER.md"] as const)(
    "a start without %s stops and names the missing file",
    async (missing) => {
      const workspace = createWorkspace(fixture.files.lead);
      rmSync(path.join(workspace, missing));
      const { code, stdout } = await runCommand(workspace, shellBlocksOf(fixture.files.lead["BOOTSTRAP.md"])[0]!);
      expect(code).toBe(1);
      expect(stdout).toContain(`missing: ${missing}\n`);
    },
  );

  test.each(["lead", "worker"] as const)(
    "a %s with a refused token stops at the first call and prints the status",
    async (role) => {
      const { code, stdout, stderr, paths } = await runHeartbeat(role, { token: "x".repeat(43) });
      expect(code).not.toBe(0);
      expect(stdout).toBe("");
      expect(stderr).toContain("401");
      expect(paths).toEqual(["/api/v1/agent/inbox"]);
    },
  );

  test.each(CALLS)("a heartbeat that gets a 503 from %s makes no further call", async (failing) => {
    const callOf = (target: string) => target.replace(/^.*(?=\/)/, "");
    const respond = ({ url }: Request) =>
      callOf(new URL(url).pathname) === failing
        ? Response.json({ detail: "no" }, { status: 503 })
        : Response.json({ items: [], has_work: true, messages: [], tasks: [], counts: {} });
    const { code, stderr, paths } = await runHeartbeat("worker", { respond });
    expect(code).not.toBe(0);
    expect(stderr).toContain("503");
    expect(paths.map(callOf)).toEqual(CALLS.slice(0, CALLS.indexOf(failing) + 1));
  });

  test.each(["lead", "worker"] as const)("an idle %s makes one request and prints HEARTBEAT_OK", async (role) => {
    const { code, stdout, stderr, paths } = await runHeartbeat(role);
    expect([code, stdout, stderr, paths]).toEqual([0, "HEARTBEAT_OK\n", "", ["/api/v1/agent/inbox"]]);
  });

  const hasTasks = endpoints.some(({ paths }) => paths.includes("/api/v1/agent/boards/{board_id}/tasks"));
  test.runIf(hasTasks)("a heartbeat prints the agent's identity, the board with its rules, and the open work", async () => {
    const make = async (title: string, assigned_agent_id: string | null) => {
      const body = { title, assigned_agent_id, priority: "high" };
      const made = await fixture.world.call("POST", `/api/v1/boards/${fixture.home.board_id}/tasks`, {
        token: fixture.home.owner.token,
        body,
      });
      return made.body.id as string;
    };
    const own_task = await make("Mine", fixture.home.worker.id);
    const free_task = await make("Free", null);
    const linesOf = async (role: "lead" | "worker") => {
      const { code, stdout, stderr } = await runHeartbeat(role);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout.trimEnd().split("\n");
    };
    const [lead = "", inbox = "", board = "", ...tasks] = await linesOf("lead");
    expect(JSON.parse(inbox)).toMatchObject({ messages: [], counts: { free: 1 } });
    expect(JSON.parse(lead)).toEqual({ agent_id: fixture.home.lead.id, status: "online" });
    expect(JSON.parse(board)).toEqual({
      id: fixture.home.board_id,
      name: "home board",
      status: "active",
      require_approval_for_done: true,
      require_review_before_done: false,
      comment_required_for_review: false,
      block_status_changes_with_pending_approval: false,
      only_lead_can_change_status: false,
      max_agents: 5,
    });
    expect(tasks.toSorted()).toEqual(
      [
        `inbox\thigh\t-\t${free_task}\tfree\t-\tFree`,
        `inbox\thigh\t-\t${own_task}\t${fixture.home.worker.id}\t-\tMine`,
      ].toSorted(),
    );
    const [, , , ...lines] = await linesOf("worker");
    expect(lines).toEqual(["Yours:", `inbox\thigh\t-\t${own_task}\t-\tMine`, "Free:", `inbox\thigh\t-\t${free_task}\t-\tFree`]);
  });
});
