/** The commands of agents' files, run as an agent's host runs them. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { endpoints } from "@board/api/groups";
import { agents } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf, carriedBy, hasTools, run, serve, workspaceOf } from "./support/template-commands.ts";
import { byAddress, type Files, indexOf, lookUp, type Office, openOffice, rowsOf } from "./support/template-office.ts";
import { ROLES } from "./support/template-subject.ts";

let office: Office;

beforeAll(async () => {
  office = await openOffice();
});
afterAll(() => office.close());

/** On hosts that take every file, and on those that have some in AGENTS.md, where an old TOOLS.md may still lie about. */
const HOSTS: [string, (files: Files) => Partial<Files>][] = [
  ["takes every file", (all) => all],
  [
    "refuses TOOLS.md, HEARTBEAT.md and ROLES.md",
    (all) => ({
      ...carriedBy(all, ["TOOLS.md", "HEARTBEAT.md", "ROLES.md"]),
      "TOOLS.md": "BASE_URL=http://127.0.0.1:9\nAUTH_TOKEN=old",
    }),
  ],
];

describe.skipIf(!hasTools).each(HOSTS)("with sh, curl and jq, on a host that %s,", (_host, layout) => {
  test.each(ROLES)("a %s finds its operations by TOOLS.md and calls one", async (role) => {
    const workspace = workspaceOf(layout(office.files[role]));
    const blocks = blocksOf(office.files[role]["TOOLS.md"]);
    const say = async (block: string) => {
      const { code, stdout, stderr } = await run(workspace, block);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    expect(await say(blocks[0]!)).toBe("");
    expect(JSON.parse(readFileSync(path.join(workspace, "openapi.json"), "utf8"))).toEqual(office.document);
    expect(rowsOf(await say(blocks[1]!)).toSorted(byAddress)).toEqual(indexOf(role, office.document));
    expect(JSON.parse(await say(blocks[2]!))).toMatchObject(lookUp(office.document));
    const [answer = "", status] = (await say(blocks[3]!)).trimEnd().split("\n");
    expect(status).toBe("HTTP 200");
    expect(JSON.parse(answer)).toMatchObject({ ok: true, agent_id: office.actors[role].id });
    await say(blocks[4]!);
    expect(JSON.parse(readFileSync(path.join(workspace, "body.json"), "utf8"))).toEqual({ content: "It's done" });
    expect(blocks).toHaveLength(role === "main" ? 6 : 5);
  });

  test("a main agent checks in", async () => {
    const { code, stdout, stderr } = await run(
      workspaceOf(layout(office.files.main)),
      blocksOf(office.files.main["TOOLS.md"])[5]!,
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ id: office.actors.main.id, board_id: null, status: "online" });
  });

  test.each(["lead", "worker"] as const)("a %s starts by BOOTSTRAP.md, without anybody's help", async (role) => {
    await office.world.db
      .update(agents)
      .set({ status: "provisioning", last_seen_at: null })
      .where(eq(agents.id, office.actors[role].id));
    const workspace = workspaceOf(layout(office.files[role]));
    for (const block of blocksOf(office.files[role]["BOOTSTRAP.md"])) {
      const { code, stderr } = await run(workspace, block);
      expect([code, stderr], block).toEqual([0, ""]);
    }
    const [seen] = await office.world.db.select().from(agents).where(eq(agents.id, office.actors[role].id));
    expect(seen).toMatchObject({ status: "online" });
    expect(existsSync(path.join(workspace, "BOOTSTRAP.md"))).toBe(false);
    const [note = "", ...others] = readdirSync(path.join(workspace, "memory"));
    expect(note).toMatch(/^\d{4}-\d{2}-\d{2}\.md$/);
    expect(others).toEqual([]);
    expect(readFileSync(path.join(workspace, "memory", note), "utf8")).toMatch(/^# \d{4}-\d{2}-\d{2}\n\n- First start/);
    expect(readFileSync(path.join(workspace, "MEMORY.md"), "utf8")).toContain(office.files[role]["MEMORY.md"]);
  });
});

/** What a heartbeat asks for, in this order. */
const CALLS = ["/heartbeat", "/healthz", "/boards", "/tasks"];

describe.skipIf(!hasTools)("with sh, curl and jq,", () => {
  test("a start that is repeated begins MEMORY.md once, and keeps the day's note", async () => {
    const workspace = workspaceOf(office.files.worker);
    const blocks = blocksOf(office.files.worker["BOOTSTRAP.md"]).slice(0, -1);
    for (const block of [...blocks, ...blocks]) expect((await run(workspace, block)).code).toBe(0);
    expect(readFileSync(path.join(workspace, "MEMORY.md"), "utf8").match(/^Begun on/gm)).toHaveLength(1);
    const [note = ""] = readdirSync(path.join(workspace, "memory"));
    expect(readFileSync(path.join(workspace, "memory", note), "utf8").match(/^# /gm)).toHaveLength(1);
  });

  test.each(["TOOLS.md", "ROLES.md", "USER.md"] as const)("a start without %s stops and names it", async (missing) => {
    const workspace = workspaceOf(office.files.lead);
    rmSync(path.join(workspace, missing));
    const { code, stdout } = await run(workspace, blocksOf(office.files.lead["BOOTSTRAP.md"])[0]!);
    expect(code).toBe(1);
    expect(stdout).toContain(`missing: ${missing}\n`);
  });

  test.each(["lead", "worker"] as const)(
    "a %s whose token is refused ends its turn with the status, at the first call",
    async (role) => {
      const asked: string[] = [];
      const watched = await serve((request) => {
        asked.push(new URL(request.url).pathname);
        return office.world.app.fetch(request);
      });
      const refused = office.files[role]["TOOLS.md"]
        .replace(office.actors[role].token, "x".repeat(43))
        .replace(office.url, watched.url);
      const workspace = workspaceOf({ ...office.files[role], "TOOLS.md": refused });
      const { code, stdout, stderr } = await run(workspace, blocksOf(office.files[role]["HEARTBEAT.md"])[0]!);
      await watched.close();
      expect(code).not.toBe(0);
      expect(stdout).toBe("");
      expect(stderr).toContain("401");
      expect(asked).toEqual(["/api/v1/agent/heartbeat"]);
    },
  );

  test.each(CALLS)("a heartbeat that meets a 503 at %s makes no further call", async (failing) => {
    const asked: string[] = [];
    const host = await serve((request) => {
      const call = new URL(request.url).pathname.replace(/^.*(?=\/)/, "");
      asked.push(call);
      return call === failing ? Response.json({ detail: "no" }, { status: 503 }) : Response.json({ items: [] });
    });
    const tools = office.files.worker["TOOLS.md"].replace(office.url, host.url);
    const { code, stderr } = await run(
      workspaceOf({ ...office.files.worker, "TOOLS.md": tools }),
      blocksOf(office.files.worker["HEARTBEAT.md"])[0]!,
    );
    await host.close();
    expect(code).not.toBe(0);
    expect(stderr).toContain("503");
    expect(asked).toEqual(CALLS.slice(0, CALLS.indexOf(failing) + 1));
  });

  const hasTasks = endpoints.some(({ paths }) => paths.includes("/api/v1/agent/boards/{board_id}/tasks"));
  test.runIf(hasTasks)("a heartbeat prints who one is, the board with its rules, and the work that waits", async () => {
    const make = async (title: string, assigned_agent_id: string | null) => {
      const body = { title, assigned_agent_id, priority: "high" };
      const made = await office.world.call("POST", `/api/v1/boards/${office.home.board_id}/tasks`, {
        token: office.home.owner.token,
        body,
      });
      return made.body.id as string;
    };
    const mine = await make("Mine", office.home.worker.id);
    const free = await make("Free", null);
    const beat = async (role: "lead" | "worker") => {
      const { code, stdout, stderr } = await run(
        workspaceOf(office.files[role]),
        blocksOf(office.files[role]["HEARTBEAT.md"])[0]!,
      );
      expect([code, stderr]).toEqual([0, ""]);
      return stdout.trimEnd().split("\n");
    };
    const [lead = "", board = "", ...tasks] = await beat("lead");
    expect(JSON.parse(lead)).toEqual({ agent_id: office.home.lead.id, status: "online" });
    expect(JSON.parse(board)).toEqual({
      id: office.home.board_id,
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
      [`inbox\thigh\t-\t${free}\tfree\t-\tFree`, `inbox\thigh\t-\t${mine}\t${office.home.worker.id}\t-\tMine`].toSorted(),
    );
    const [, , ...lines] = await beat("worker");
    expect(lines).toEqual(["Yours:", `inbox\thigh\t-\t${mine}\t-\tMine`, "Free:", `inbox\thigh\t-\t${free}\t-\tFree`]);
  });
});
