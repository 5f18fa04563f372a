import { agents } from "@board/core/db/schema";
import type { FakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { addGroup, boardMemoryPath, groupMemoryPath } from "./support/group.ts";
import { officesOnOneHost } from "./support/office.ts";
import type { Tenant, World } from "./support/world.ts";

/** Whom what is written into the memory of a group reaches. */
let world: World;
let host: FakeGateway;
let home: Tenant;
/** A second board of the group, with one agent. */
let second: Awaited<ReturnType<typeof addBoard>>;
let group_id: string;

const openOffice = officesOnOneHost({ environment: { BASE_URL: "https://board.example" } });
beforeEach(async () => {
  ({ world, host, home } = await openOffice());
  second = await addBoard(world, home, "Second");
  await addBoard(world, home, "Alone");
  group_id = await addGroup(world, home, "Platform", [home.board_id, second.board_id]);
});

const say = (content: string, tags: string[] | null = ["chat"]) =>
  world.call("POST", groupMemoryPath(group_id), { token: home.owner.token, body: { content, tags } });
const sayAs = (token: string, content: string, board_id: string, tags: string[] = ["chat"]) =>
  world.call("POST", boardMemoryPath(board_id), { agent: token, body: { content, tags } });
const sessionOf = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!.openclaw_session_id!;
/** Session key to the first line of what it was told. */
const told = async () => {
  await world.drain();
  return Object.fromEntries(host.messages.map(({ session_key, message }) => [session_key, message.split("\n")[0]]));
};

describe("what is told", () => {
  test("an agent is told what was said, by whom, and how to answer from its own board", async () => {
    await say("@second look");
    await world.drain();
    const { message } = host.messages.find(({ message }) => message.startsWith("GROUP CHAT MENTION"))!;
    const marker = /BEGIN MESSAGE ([0-9a-f]{16}) /.exec(message)![1];
    expect(message.split("\n")).toEqual([
      "GROUP CHAT MENTION",
      "Group: Platform",
      `From: ${home.owner.subject}`,
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

  test("chat reaches leads and those it mentions", async () => {
    expect((await say("hello")).body.source).toBe(home.owner.subject);
    expect(await told()).toEqual({ [home.lead.session_key]: "GROUP CHAT" });
    host.messages.length = 0;
    await say("@lead @worker");
    expect(await told()).toEqual({
      [home.lead.session_key]: "GROUP CHAT MENTION",
      [home.worker.session_key]: "GROUP CHAT MENTION",
    });
  });

  test.each([
    ["the tag broadcast", "all hands", ["broadcast"], false],
    ["the tag broadcast on chat", "all hands", ["chat", "broadcast"], true],
    ["@all", "@All hands @worker", null, false],
    ["@all in chat", "hands, @all!", ["chat"], true],
  ])("%s reaches every agent of every board", async (_what, content, tags, is_chat) => {
    expect((await say(content, tags)).body).toMatchObject({ source: home.owner.subject, is_chat });
    expect(await told()).toEqual({
      [home.lead.session_key]: "GROUP BROADCAST",
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
  });

  test.each([
    ["a note", "hello @worker", null],
    ["another tag", "hello", ["Broadcast", "chats"]],
    ["an address", "mail@all of it", []],
  ])("%s reaches nobody", async (_what, content, tags) => {
    expect((await say(content, tags)).body.source).toBeNull();
    expect(await told()).toEqual({});
  });

  test("never the author, and nobody without a session or outside of the group", async () => {
    expect((await sayAs(home.lead.token, "@lead @all", home.board_id)).body.source).toBe("Lead");
    expect(await told()).toEqual({
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
    host.messages.length = 0;
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, second.agent.id));
    await say("@all");
    expect(Object.keys(await told()).toSorted()).toEqual([home.lead.session_key, home.worker.session_key].toSorted());
  });

  test("nothing is written to the activity log", async () => {
    const events = async () =>
      (await world.db.execute(
        "select count(*)::int as total from activity_events where event_type not like 'agent.%'",
      )) as unknown as { rows: unknown };
    const before = (await events()).rows;
    await say("@all");
    await world.drain();
    expect((await events()).rows).toEqual(before);
  });
});
