/** Tests which agents an entry of a group's memory notifies. */
import { agents } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addGroup, boardMemoryPath, groupMemoryPath } from "../support/group.ts";
import { setupHostedTenants, receivedHeadings } from "../support/gateway-fixture.ts";
import { renew } from "../support/fixtures.ts";

let group_id: string;

const { world, host, home } = await setupHostedTenants({ environment: { BASE_URL: "https://board.example" } });
/** A second board of the group, with one agent. */
const second = renew(() => addBoard(world, home, "Second"));
beforeEach(async () => {
  await addBoard(world, home, "Alone");
  group_id = await addGroup(world, home, "Platform", [home.board_id, second.board_id]);
});

const post = (content: string, tags: string[] | null = ["chat"]) =>
  world.call("POST", groupMemoryPath(group_id), { token: home.owner.token, body: { content, tags } });
const postAs = (token: string, content: string, board_id: string, tags: string[] = ["chat"]) =>
  world.call("POST", boardMemoryPath(board_id), { agent: token, body: { content, tags } });
const sessionOf = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!.openclaw_session_id!;

describe("notifications of group chat", () => {
  test("a notification has the message, its author and how to reply from the agent's own board", async () => {
    await post("@second look");
    await world.drain();
    const { message } = host.messages.find(({ message }) => message.startsWith("GROUP CHAT MENTION"))!;
    const marker = /BEGIN MESSAGE ([0-9a-f]{16}) /.exec(message)![1];
    expect(message.split("\n")).toEqual([
      "GROUP CHAT MENTION",
      "Group: Platform",
      expect.stringMatching(new RegExp(`^From: person [0-9a-f-]{36} \\(${home.owner.subject}\\)$`)),
      `--- BEGIN MESSAGE ${marker} ---`,
      "@second look",
      `--- END MESSAGE ${marker} ---`,
      expect.stringMatching(/^Reply in the group chat/),
      `POST https://board.example/api/v1/boards/${second.board_id}/group-memory`,
      'Body: {"content":"...","tags":["chat"]}',
    ]);
    const url = new URL(/^POST (\S+)$/m.exec(message)![1]!);
    const body = JSON.parse(/^Body: (.*)$/m.exec(message)![1]!);
    expect((await world.call("POST", url.pathname, { agent: second.agent.token, body })).body).toMatchObject({
      is_chat: true,
      source: "Second agent",
    });
  });

  test("group chat notifies leads and mentioned agents", async () => {
    expect((await post("hello")).body.source).toBe(home.owner.subject);
    expect(await receivedHeadings({ world, host })).toEqual({ [home.lead.session_key]: "GROUP CHAT" });
    host.messages.length = 0;
    await post("@lead @worker");
    expect(await receivedHeadings({ world, host })).toEqual({
      [home.lead.session_key]: "GROUP CHAT MENTION",
      [home.worker.session_key]: "GROUP CHAT MENTION",
    });
  });

  test.each([
    ["a note with the tag broadcast", "all hands", ["broadcast"], false],
    ["chat with the tag broadcast", "all hands", ["chat", "broadcast"], true],
    ["a note with @all", "@All hands @worker", null, false],
    ["chat with @all", "hands, @all!", ["chat"], true],
  ])("%s notifies every agent of every board of the group", async (_what, content, tags, is_chat) => {
    expect((await post(content, tags)).body).toMatchObject({ source: home.owner.subject, is_chat });
    expect(await receivedHeadings({ world, host })).toEqual({
      [home.lead.session_key]: "GROUP BROADCAST",
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
  });

  test.each([
    ["a note with a mention", "hello @worker", null],
    ["a note with other tags", "hello", ["Broadcast", "chats"]],
    ["an email address that contains @all", "mail@all of it", []],
  ])("%s notifies no agent", async (_what, content, tags) => {
    expect((await post(content, tags)).body.source).toBe(home.owner.subject);
    expect(await receivedHeadings({ world, host })).toEqual({});
  });

  test("the author, agents without a session and agents outside of the group are not notified", async () => {
    expect((await postAs(home.lead.token, "@lead @all", home.board_id)).body.source).toBe("Lead");
    expect(await receivedHeadings({ world, host })).toEqual({
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
    host.messages.length = 0;
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, second.agent.id));
    await post("@all");
    expect(Object.keys(await receivedHeadings({ world, host })).toSorted()).toEqual(
      [home.lead.session_key, home.worker.session_key].toSorted(),
    );
  });

  test("group chat records no activity", async () => {
    const events = async () =>
      (await world.db.execute(
        "select count(*)::int as total from activity_events where event_type not like 'agent.%'",
      )) as unknown as { rows: unknown };
    const before = (await events()).rows;
    await post("@all");
    await world.drain();
    expect((await events()).rows).toEqual(before);
  });
});
