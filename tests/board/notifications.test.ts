import { agents, boards, gateways, jobs } from "@board/core/schema/all-tables";
import { desc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { addBoard } from "../support/board.ts";
import { addGroup } from "../support/group.ts";
import { setupHostedTenants } from "../support/gateway-fixture.ts";

const { world, host, home } = await setupHostedTenants();

const patch = (body: object, board_id = home.board_id) =>
  world.call("PATCH", `/api/v1/boards/${board_id}`, { token: home.owner.token, body });
/** Changes the board and delivers its notifications. */
async function change(body: object, board_id?: string) {
  const answer = await patch(body, board_id);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  await world.drain();
  return answer.body;
}
const textsFor = (session_key: string) =>
  host.messages.filter((message) => message.session_key === session_key).map(({ message }) => message.split("\n"));
const headers = () => host.messages.map(({ session_key, message }) => [session_key, message.split("\n").slice(0, 2).join(" ")]);
const sessionOf = async (agent_id: string) =>
  (await world.db.select().from(agents).where(eq(agents.id, agent_id)))[0]!.openclaw_session_id!;
const events = async (type = "board.%") =>
  (await listEvents(world, { event_type: type }))
    .filter((event) => event.organization_id === home.organization_id)
    .map(({ event_type, agent_id, board_id }) => ({ event_type, agent_id, board_id }));

describe("notifications of a changed board", () => {
  test("the lead is notified of every changed field by name, with its old and its new value", async () => {
    const board = await change({
      slug: "renamed",
      name: "Renamed",
      max_agents: 5,
      objective: "Win",
      success_metrics: { users: 10 },
      target_date: "2026-12-31",
      require_review_before_done: true,
    });
    expect(textsFor(home.lead.session_key)).toEqual([
      [
        "BOARD UPDATED",
        "Board: Renamed",
        `Board ID: ${home.board_id}`,
        "Changed fields:",
        `- name: ${home.owner.subject} board -> Renamed`,
        "- objective: null -> Win",
        "- require_review_before_done: false -> true",
        `- slug: ${home.owner.subject.replace(" ", "-")}-board -> renamed`,
        '- success_metrics: null -> {"users":10}',
        "- target_date: null -> 2026-12-31T00:00:00.000Z",
        expect.stringMatching(/^Take action: /),
      ],
    ]);
    expect(board.max_agents).toBe(5);
    expect(headers()).toHaveLength(1);
    expect(await events()).toEqual([{ event_type: "board.lead_notified", agent_id: home.lead.id, board_id: home.board_id }]);
    const [job] = await world.db.select().from(jobs).orderBy(desc(jobs.seq)).limit(1);
    expect(job).toMatchObject({
      kind: "notice",
      status: "done",
      max_attempts: 6,
      lane: `${home.gateway_id}/lead-${home.board_id}`,
    });
    expect(host.messages[0]).toMatchObject({ deliver: false });
    expect(host.host.sessions.get(home.lead.session_key)?.label).toBe("Lead");
  });

  test("no agent is notified when no field changes", async () => {
    for (const body of [{}, { unknown: 1 }, { name: ` ${home.owner.subject} board ` }, { objective: "  ", max_agents: 5 }])
      await change(body);
    expect((await patch({ name: "" })).status).toBe(422);
    await world.drain();
    expect([headers(), await events()]).toEqual([[], []]);
  });

  test("a value cannot add lines to a notification, and a long value is cut", async () => {
    await change({ description: `one\ntwo\u2028three\t${"x".repeat(1_000)}` });
    const [text] = textsFor(home.lead.session_key);
    expect(text).toHaveLength(6);
    expect(text![4]).toBe(`- description: A board -> one two three ${"x".repeat(483)}...`);
  });

  test("a board whose lead is missing or has no session notifies no agent", async () => {
    const { board_id } = await addBoard(world, home);
    await change({ name: "Leaderless" }, board_id);
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, home.lead.id));
    await change({ name: "Mute" });
    expect([headers(), await events()]).toEqual([[], []]);
  });

  test("a change and its notifications are stored together or not at all", async () => {
    const before = (await world.db.select().from(jobs)).length;
    const refused = await patch({ name: "Half", board_group_id: crypto.randomUUID() });
    expect([refused.status, (await world.db.select().from(jobs)).length]).toEqual([422, before]);
  });

  test("an unreachable host never makes the change fail; giving up after six attempts is recorded", async () => {
    await world.db.update(gateways).set({ url: "ws://127.0.0.1:9" }).where(eq(gateways.id, home.gateway_id));
    for (let attempt = 0; attempt < 7; attempt++) {
      await change(attempt === 0 ? { name: "Unreachable" } : {});
      world.elapse(200_000);
    }
    expect(await events()).toEqual([{ event_type: "board.lead_notify_failed", agent_id: home.lead.id, board_id: home.board_id }]);
  });

  test("a notification whose board has been deleted is delivered and records no event", async () => {
    await patch({ name: "Renamed" });
    await world.db.delete(boards).where(eq(boards.id, home.board_id));
    await world.drain();
    expect(headers()).toHaveLength(1);
    const [job] = await world.db.select().from(jobs).orderBy(desc(jobs.seq)).limit(1);
    expect([job!.status, await events()]).toEqual(["done", []]);
  });
});

describe("notifications of a changed board group", () => {
  let other: { board_id: string; agent: { id: string; session_key: string } };
  let group_id: string;

  beforeEach(async () => {
    const { board_id, agent } = await addBoard(world, home, "Other");
    other = { board_id, agent: { id: agent.id, session_key: await sessionOf(agent.id) } };
    group_id = await addGroup(world, home, "Platform", [other.board_id]);
  });

  const groupText = (verb: string, recipient: [string, string], group: [string, string]) => [
    "BOARD GROUP UPDATED",
    `${verb} Board: ${home.owner.subject} board`,
    `${verb} Board ID: ${home.board_id}`,
    `Recipient Board: ${recipient[0]}`,
    `Recipient Board ID: ${recipient[1]}`,
    `Board Group: ${group[0]}`,
    `Board Group ID: ${group[1]}`,
    "Coordination guidance:",
    expect.stringMatching(/^1\. /),
    expect.stringMatching(/^2\. /),
    expect.stringMatching(/^3\. /),
  ];
  const own = (): [string, string] => [`${home.owner.subject} board`, home.board_id];

  test("every agent of the group's boards and of the joining board is notified of a join", async () => {
    await change({ board_group_id: group_id });
    const platform: [string, string] = ["Platform", group_id];
    expect(textsFor(other.agent.session_key)).toEqual([groupText("Joined", ["Other", other.board_id], platform)]);
    expect(textsFor(home.worker.session_key)).toEqual([groupText("Joined", own(), platform)]);
    expect(textsFor(home.lead.session_key)).toEqual([
      groupText("Joined", own(), platform),
      expect.arrayContaining(["BOARD UPDATED", `- board_group_id: null -> ${group_id}`]),
    ]);
    const joined = { event_type: "board.group.join.notified" };
    expect((await events("board.group.%")).toSorted((a, b) => (a.agent_id! < b.agent_id! ? -1 : 1))).toEqual(
      [
        { ...joined, agent_id: home.lead.id, board_id: home.board_id },
        { ...joined, agent_id: home.worker.id, board_id: home.board_id },
        { ...joined, agent_id: other.agent.id, board_id: other.board_id },
      ].toSorted((a, b) => (a.agent_id < b.agent_id ? -1 : 1)),
    );
  });

  test("an agent can make the request that its notification names", async () => {
    await change({ board_group_id: group_id });
    const [text] = textsFor(home.worker.session_key);
    const path = /GET (\S+)/.exec(text!.join("\n"))![1]!;
    const shown = await world.call("GET", path, { agent: home.worker.token });
    expect(shown.body.boards).toMatchObject([{ board: { id: other.board_id } }]);
  });

  test("agents of the remaining boards and of the leaving board are notified of a leave", async () => {
    await world.db.update(boards).set({ board_group_id: group_id }).where(eq(boards.id, home.board_id));
    await change({ board_group_id: null });
    const platform: [string, string] = ["Platform", group_id];
    expect(textsFor(other.agent.session_key)).toEqual([groupText("Left", ["Other", other.board_id], platform)]);
    expect(textsFor(home.worker.session_key)).toEqual([groupText("Left", own(), platform)]);
    expect((await events("board.group.%")).map(({ event_type }) => event_type)).toEqual(
      Array(3).fill("board.group.leave.notified"),
    );
  });

  test("a move notifies the old group of a leave and the new group of a join", async () => {
    const third = await addBoard(world, home, "Third");
    const target_id = await addGroup(world, home, "Target", [third.board_id]);
    await world.db.update(boards).set({ board_group_id: group_id }).where(eq(boards.id, home.board_id));
    await change({ board_group_id: target_id });
    expect(textsFor(other.agent.session_key)).toEqual([groupText("Left", ["Other", other.board_id], ["Platform", group_id])]);
    expect(textsFor(await sessionOf(third.agent.id))).toEqual([
      groupText("Joined", ["Third", third.board_id], ["Target", target_id]),
    ]);
    expect(textsFor(home.worker.session_key)).toEqual([
      groupText("Left", own(), ["Platform", group_id]),
      groupText("Joined", own(), ["Target", target_id]),
    ]);
    expect(textsFor(home.lead.session_key).map(([header]) => header)).toEqual([
      "BOARD GROUP UPDATED",
      "BOARD GROUP UPDATED",
      "BOARD UPDATED",
    ]);
  });

  test("agents without a session are not notified, and an unreachable host is recorded only for its agent", async () => {
    const far = { name: "Far", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
    const gateway = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: far })).body;
    const distant = await addBoard(world, { ...home, gateway_id: gateway.id }, "Distant");
    const board_group_id = await addGroup(world, home, "Scattered", [distant.board_id]);
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, home.worker.id));
    await patch({ board_group_id });
    for (let attempt = 0; attempt < 7; attempt++) {
      await world.drain();
      world.elapse(200_000);
    }
    expect(await events("board.group.%")).toEqual([
      { event_type: "board.group.join.notified", agent_id: home.lead.id, board_id: home.board_id },
      { event_type: "board.group.join.notify_failed", agent_id: distant.agent.id, board_id: distant.board_id },
    ]);
  });
});
