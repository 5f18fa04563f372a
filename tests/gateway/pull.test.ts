import { agents, gateways, inbox_messages, jobs } from "@board/core/schema/all-tables";
import { runScheduled } from "@board/api/work/schedules";
import { and, eq, ne } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import type { Tenant } from "../support/world.ts";

let count = 0;

const world = await setupWorld();

const board = renew(() => openPullBoard(world, `person ${++count}`));

const asOwner = (method: string, path: string, body?: object) => board.call(method, path, board.owner.token, body);
const asAgent = (agent: { token: string }, method: string, path: string, body?: object) =>
  world.call(method, path, { agent: agent.token, body });
/** Lists the jobs of the organization, without the jobs that notify people. */
const jobsOf = () =>
  world.db
    .select({ kind: jobs.kind })
    .from(jobs)
    .where(and(eq(jobs.organization_id, board.organization_id), ne(jobs.kind, "people.tell")));

describe("a pull gateway", () => {
  test("a pull gateway needs only a name, has no main agent, and shows no connection", async () => {
    const { status, body } = await asOwner("POST", "/api/v1/gateways", { name: "Terminals", kind: "pull" });
    expect([status, body]).toMatchObject([
      200,
      {
        name: "Terminals",
        kind: "pull",
        url: "",
        workspace_root: "",
        token: null,
        has_token: false,
        connected: false,
        version: null,
        last_error: null,
      },
    ]);
    expect(await world.db.select().from(agents).where(eq(agents.gateway_id, body.id))).toEqual([]);
    expect(await jobsOf()).toEqual([]);
    expect(
      (await asOwner("PATCH", `/api/v1/gateways/${body.id}`, { name: "Shells", url: "ws://127.0.0.1:9" })).body,
    ).toMatchObject({
      name: "Shells",
      kind: "pull",
      url: "",
    });
    expect((await asOwner("DELETE", `/api/v1/gateways/${body.id}`)).status).toBe(200);
  });

  test.each([{ token: "secret-token" }, { disable_device_pairing: true }, { allow_insecure_tls: true }])(
    "a pull gateway refuses fields that only a host has: %o",
    async (field) => {
      const made = await asOwner("POST", "/api/v1/gateways", { name: "Terminals", kind: "pull", ...field });
      expect([made.status, made.body.detail]).toMatchObject([
        422,
        [{ loc: ["body", Object.keys(field)[0]], type: "value_error" }],
      ]);
      expect((await asOwner("PATCH", `/api/v1/gateways/${board.gateway_id}`, field)).status).toBe(422);
    },
  );

  test("a pull gateway stays a pull gateway, and a gateway with a host keeps its kind", async () => {
    const refused = await asOwner("PATCH", `/api/v1/gateways/${board.gateway_id}`, { kind: "openclaw" });
    expect([refused.status, refused.body]).toEqual([422, { detail: "kind cannot be changed" }]);
    expect((await asOwner("PATCH", `/api/v1/gateways/${board.gateway_id}`, { kind: "pull" })).status).toBe(200);
    const host = { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
    const { id } = (await asOwner("POST", "/api/v1/gateways", host)).body;
    expect((await asOwner("PATCH", `/api/v1/gateways/${id}`, { kind: "pull" })).status).toBe(422);
    const without = await asOwner("POST", "/api/v1/gateways", { kind: "openclaw" });
    expect(without.body.detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, loc[1]])).toEqual([
      ["missing", "name"],
      ["missing", "url"],
      ["missing", "workspace_root"],
    ]);
  });

  test("a pull gateway is connected while one of its agents was seen in the last ten minutes", async () => {
    const shown = async () => {
      const one = (await asOwner("GET", `/api/v1/gateways/${board.gateway_id}`)).body;
      const list = (await asOwner("GET", "/api/v1/gateways")).body.items;
      const status = (await asOwner("GET", `/api/v1/gateway/status?board_id=${board.board_id}`)).body;
      expect(list).toEqual([one]);
      expect(status).toMatchObject({ gateway_url: "", error: null, sessions: null });
      return [one.connected, status.connected];
    };
    expect(await shown()).toEqual([false, false]);
    await board.inbox(board.worker);
    expect(await shown()).toEqual([true, true]);
    world.elapse(11 * 60_000);
    expect(await shown()).toEqual([false, false]);
  });

  test("a pull gateway has no host: sessions and commands are refused, and a sync skips its agents with the reason", async () => {
    const query = `gateway_id=${board.gateway_id}`;
    for (const path of [
      `sessions?${query}`,
      `sessions/agent:a:main?${query}`,
      `sessions/agent:a:main/history?${query}`,
      `commands?${query}`,
    ]) {
      const { status, body } = await asOwner("GET", `/api/v1/gateway/${path}`);
      expect([status, body], path).toEqual([422, { detail: "Gateway has no host." }]);
    }
    const sent = await asOwner("POST", `/api/v1/gateway/sessions/agent:a:main/message?${query}`, { content: "Hi" });
    expect([sent.status, sent.body]).toEqual([422, { detail: "Gateway has no host." }]);
    for (const headers of [{}, { Prefer: "respond-async" }]) {
      const sync = await world.call("POST", `/api/v1/gateways/${board.gateway_id}/templates/sync?rotate_tokens=true`, {
        token: board.owner.token,
        headers,
      });
      expect([sync.status, sync.body]).toMatchObject([
        200,
        {
          total_synced: 0,
          total_errors: 0,
          agents_skipped: 2,
          warnings: [
            { agent_id: board.lead.id, agent_name: "Lead", message: "pull gateway" },
            { agent_id: board.worker.id, agent_name: "Worker", message: "pull gateway" },
          ],
        },
      ]);
    }
    expect((await board.inbox(board.worker)).status).toBe(200);
  });

  test("a pull gateway is neither probed nor synced by the schedule", async () => {
    await asOwner("PATCH", `/api/v1/gateways/${board.gateway_id}`, { sync_interval_minutes: 5 });
    world.elapse(3_600_000);
    for (const schedule of ["probe", "sync", "lifecycle"] as const) await runScheduled(world.context(), schedule);
    expect(await jobsOf()).toEqual([]);
  });

  test("a pull gateway of another organization cannot be bound to a board", async () => {
    const abroad = await openPullBoard(world, `abroad ${count}`);
    const refused = await asOwner("POST", "/api/v1/boards", { name: "B", description: "B", gateway_id: abroad.gateway_id });
    expect([refused.status, refused.body]).toEqual([422, { detail: "gateway_id is invalid" }]);
  });
});

describe("a board made for pull agents", () => {
  test("a board for pull agents uses the organization's pull gateway, which is created once, even by concurrent requests", async () => {
    const owner = await world.person(`founder ${count}`);
    await board.call("GET", "/api/v1/auth/bootstrap", owner.token);
    const create = (name: string) =>
      board.call("POST", "/api/v1/boards", owner.token, { name, description: "A board", gateway: "pull" });
    const made = await Promise.all(["One", "Two", "Three"].map(create));
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { items } = (await board.call("GET", "/api/v1/gateways", owner.token)).body;
    expect(items).toMatchObject([{ name: "Agents", kind: "pull" }]);
    expect(new Set(made.map(({ body }) => body.gateway_id))).toEqual(new Set([items[0].id]));
    const bound = await board.call("POST", "/api/v1/boards", owner.token, {
      name: "Four",
      description: "B",
      gateway_id: items[0].id,
    });
    expect(bound.status).toBe(200);
  });

  test.each([{}, { gateway: null }, { gateway: "openclaw", gateway_id: crypto.randomUUID() }])(
    "a new board that names neither an existing gateway_id nor the gateway `pull` is refused: %o",
    async (field) => {
      expect((await asOwner("POST", "/api/v1/boards", { name: "B", description: "B", ...field })).status).toBe(422);
    },
  );
});

describe("an agent without a host", () => {
  test("an agent without a host is ready at once, online with its first request, and offline after ten silent minutes", async () => {
    const status = async () => (await asOwner("GET", `/api/v1/agents/${board.worker.id}`)).body;
    expect(await status()).toMatchObject({ status: "ready", openclaw_session_id: null, gateway_id: board.gateway_id });
    await asAgent(board.worker, "GET", "/api/v1/agent/boards");
    expect((await status()).status).toBe("online");
    world.elapse(11 * 60_000);
    await runScheduled(world.context(), "lifecycle");
    expect((await status()).status).toBe("offline");
    expect(await jobsOf()).toEqual([]);
  });

  test("an agent without a host causes no job when it is changed, checks in or is removed, nor when its board is removed", async () => {
    const path = `/api/v1/agents/${board.worker.id}`;
    const changes = { name: "Renamed", heartbeat_config: { every: "5m" }, soul_template: "Be kind" };
    expect((await asOwner("PATCH", path, changes)).body).toMatchObject({ name: "Renamed", status: "ready" });
    expect((await asOwner("PATCH", `${path}?force=true`, {})).status).toBe(200);
    expect((await asOwner("POST", `${path}/heartbeat`, {})).body.status).toBe("online");
    expect((await asOwner("DELETE", path)).status).toBe(200);
    expect((await asOwner("DELETE", `/api/v1/boards/${board.board_id}`)).status).toBe(200);
    expect(await jobsOf()).toEqual([]);
  });

  test("an agent without a host cannot become a main agent, and its lead's question to the user becomes a question to people", async () => {
    const refused = await asOwner("PATCH", `/api/v1/agents/${board.worker.id}`, { is_gateway_main: true });
    expect([refused.status, refused.body]).toEqual([422, { detail: "Gateway has no host." }]);
    const asked = await asAgent(board.lead, "POST", `/api/v1/agent/boards/${board.board_id}/gateway/main/ask-user`, {
      content: "Why?",
    });
    expect([asked.status, asked.body]).toEqual([
      200,
      { ok: true, board_id: board.board_id, main_agent_id: null, main_agent_name: null },
    ]);
    const [question] = (await asOwner("GET", `/api/v1/boards/${board.board_id}/approvals?status=pending`)).body.items;
    expect(question).toMatchObject({ action_type: "question", agent_id: board.lead.id, description: "Why?" });
    const path = `/api/v1/boards/${board.board_id}/approvals/${question.id}`;
    expect((await asOwner("PATCH", path, { status: "approved", answer: { text: "Because." } })).status).toBe(200);
    const { messages } = (await asAgent(board.lead, "GET", "/api/v1/agent/inbox")).body;
    expect(messages.map(({ text }: { text: string }) => text)).toContainEqual(expect.stringContaining("Because."));
    expect((await asOwner("POST", `/api/v1/boards/${board.board_id}/onboarding/start`, {})).status).toBe(422);
  });

  test("an agent without a host has its soul in the database, where its lead reads and writes it", async () => {
    const path = `/api/v1/agent/boards/${board.board_id}/agents/${board.worker.id}/soul`;
    const before = await asAgent(board.worker, "GET", path);
    expect([before.status, before.body]).toEqual([200, expect.stringMatching(/^# SOUL\.md/)]);
    expect((await asAgent(board.lead, "PUT", path, { content: "Be kind" })).status).toBe(200);
    expect((await asAgent(board.worker, "GET", path)).body).toBe("Be kind");
    expect((await asOwner("GET", `/api/v1/agents/${board.worker.id}`)).body.soul_template).toBe("Be kind");
  });

  test("a lead without a host can create agents on its own board", async () => {
    const { status, body } = await asAgent(board.lead, "POST", "/api/v1/agent/agents", { name: "Helper" });
    expect([status, body]).toMatchObject([200, { status: "ready", auth_token: expect.any(String) }]);
    expect((await board.inbox({ id: body.id, token: body.auth_token })).status).toBe(200);
  });
});

describe("messages that a host would get", () => {
  const kinds = async (agent: PullBoard["lead"]) =>
    (await board.inbox(agent)).body.messages.map(({ kind, text }: { kind: string; text: string }) => [kind, text.split("\n")[0]]);
  const tasksPath = () => `/api/v1/boards/${board.board_id}/tasks`;

  test("messages about tasks are put into the inbox of an agent without a host, with the events of a delivery and without a job", async () => {
    const task = await board.addTask({ title: "Build", assigned_agent_id: board.worker.id });
    expect(await kinds(board.lead)).toEqual([["task.created", "NEW TASK ADDED"]]);
    await asOwner("POST", `${tasksPath()}/${task}/comments`, { message: "Hello @worker" });
    await asOwner("POST", `${tasksPath()}/${task}/comments`, { message: "And hello" });
    await asAgent(board.worker, "PATCH", `/api/v1/agent/boards/${board.board_id}/tasks/${task}`, { status: "in_progress" });
    await asAgent(board.worker, "PATCH", `/api/v1/agent/boards/${board.board_id}/tasks/${task}`, {
      status: "review",
      comment: "Done",
    });
    await asOwner("PATCH", `${tasksPath()}/${task}`, { assigned_agent_id: null, status: "inbox" });
    const told = (await board.inbox(board.worker)).body.messages;
    expect(told.map(({ kind, task_id }: Record<string, string>) => [kind, task_id])).toEqual([
      ["task.assigned", task],
      ["task.mention", task],
      ["task.comment", task],
    ]);
    expect(await kinds(board.lead)).toContainEqual(["task.returned", "TASK BACK IN INBOX"]);
    const { items } = (await asOwner("GET", "/api/v1/activity?limit=200")).body;
    const types = items.map(({ event_type }: { event_type: string }) => event_type);
    expect(types).toEqual(
      expect.arrayContaining(["task.lead_notified", "task.assignee_notified", "task.lead_unassigned_notified"]),
    );
    expect(await jobsOf()).toEqual([]);
  });

  test("messages about chat, a nudge, a change of the board and a webhook are put into the inbox of an agent without a host", async () => {
    const say = (content: string) => asOwner("POST", `/api/v1/boards/${board.board_id}/memory`, { content, tags: ["chat"] });
    await say("Hello @worker");
    await asAgent(board.lead, "POST", `/api/v1/agent/boards/${board.board_id}/agents/${board.worker.id}/nudge`, {
      message: "Go on",
    });
    await asOwner("PATCH", `/api/v1/boards/${board.board_id}`, { objective: "More" });
    const webhooks = `/api/v1/boards/${board.board_id}/webhooks`;
    const webhook = (await asOwner("POST", webhooks, { description: "Look at it", agent_id: board.worker.id })).body;
    expect((await world.call("POST", `${webhooks}/${webhook.id}`, { raw: "Something happened" })).status).toBe(202);
    expect(await kinds(board.worker)).toEqual([
      ["board.mention", "BOARD CHAT MENTION"],
      ["agent.nudge", "Go on"],
      ["webhook.received", "WEBHOOK EVENT RECEIVED"],
    ]);
    expect(await kinds(board.lead)).toEqual([
      ["board.chat", "BOARD CHAT"],
      ["board.updated", "BOARD UPDATED"],
    ]);
    expect(await jobsOf()).toEqual([]);
  });

  test("messages for the inbox are stored together with their change, and a refused change stores none", async () => {
    const task = await board.addTask();
    const before = (await board.inbox(board.lead)).body.counts.messages;
    const refused = await asOwner("PATCH", `${tasksPath()}/${task}`, {
      assigned_agent_id: board.worker.id,
      status: "done",
      title: "",
    });
    expect(refused.status).toBe(422);
    expect((await board.inbox(board.worker)).body.counts.messages).toBe(0);
    expect((await board.inbox(board.lead)).body.counts.messages).toBe(before);
  });
});

describe("an agent that moves", () => {
  const addHostedBoard = async () => {
    const host = { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
    const gateway_id = (await asOwner("POST", "/api/v1/gateways", host)).body.id;
    return (await asOwner("POST", "/api/v1/boards", { name: "Hosted", description: "B", gateway_id, max_agents: 5 })).body
      .id as string;
  };

  test("an agent that moves to a host is provisioned there, and one that moves back is ready at once with the same token", async () => {
    const hosted = await addHostedBoard();
    await world.db.delete(jobs).where(eq(jobs.organization_id, board.organization_id));
    const move = (board_id: string) => asOwner("PATCH", `/api/v1/agents/${board.worker.id}`, { board_id });
    expect((await move(hosted)).body).toMatchObject({
      status: "provisioning",
      openclaw_session_id: `agent:mc-${board.worker.id}:main`,
    });
    expect((await jobsOf()).map(({ kind }) => kind)).toEqual(["agent.provision"]);
    expect((await move(board.board_id)).body).toMatchObject({ status: "ready", openclaw_session_id: null });
    expect((await jobsOf()).map(({ kind }) => kind)).toEqual(["agent.provision", "agent.cleanup"]);
    expect((await board.inbox(board.worker)).status).toBe(200);
  });

  test("an agent that moves leaves the messages of its former board behind", async () => {
    const other = (await asOwner("POST", "/api/v1/boards", { name: "Other", description: "B", gateway: "pull" })).body.id;
    await board.addTask({ assigned_agent_id: board.worker.id });
    expect((await board.inbox(board.worker)).body.counts.messages).toBe(1);
    await asOwner("PATCH", `/api/v1/agents/${board.worker.id}`, { board_id: other });
    expect((await board.inbox(board.worker)).body).toMatchObject({ has_work: false, counts: { messages: 0, mine: 0 } });
  });
});

describe("an agent on a host", () => {
  let home: Tenant;
  beforeAll(async () => {
    home = await world.tenant("hosted");
  });

  test("the inbox of an agent on a host has only those messages that the host did not accept", async () => {
    const create = { title: "Build", assigned_agent_id: home.worker.id };
    const task = (await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { token: home.owner.token, body: create }))
      .body.id;
    const inbox = async () => (await world.call("GET", "/api/v1/agent/inbox", { agent: home.worker.token })).body;
    expect(await inbox()).toMatchObject({ has_work: true, messages: [], tasks: [{ id: task }] });
    for (let attempt = 0; attempt < 12; attempt++) {
      await world.drain();
      world.elapse(1_200_000);
    }
    const dead = await world.db
      .select()
      .from(jobs)
      .where(and(eq(jobs.kind, "notice"), eq(jobs.status, "dead")));
    expect(dead.length).toBeGreaterThan(0);
    expect((await inbox()).messages).toMatchObject([
      { kind: "task.assigned", task_id: task, text: expect.stringMatching(/^TASK ASSIGNED/) },
    ]);
    const rows = await world.db.select().from(inbox_messages).where(eq(inbox_messages.agent_id, home.worker.id));
    expect(rows).toMatchObject([{ organization_id: home.organization_id, board_id: home.board_id }]);
  });

  test("a request that names no gateway finds the gateway with a host, even when there is also a pull gateway", async () => {
    const status = () => world.call("GET", "/api/v1/gateway/status", { token: home.owner.token });
    const before = await status();
    await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: { name: "Terminals", kind: "pull" } });
    const [stored] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
    expect((await status()).body.gateway_url).toBe(stored!.url);
    expect(before.status).toBe(200);
  });
});
