import { activity_events, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const owner_id: string = (await world.call("GET", "/api/v1/users/me", { token: home.owner.token })).body.id;

const task = renew(() => addTask(world, home));

const userPath = (query = "", id = task.id) => `/api/v1/boards/${home.board_id}/tasks/${id}/comments${query}`;
const agentPath = (query = "", id = task.id) => `/api/v1/agent/boards/${home.board_id}/tasks/${id}/comments${query}`;
const post = (body: unknown) => world.call("POST", userPath(), { token: home.owner.token, body });
const postAs = (agent: { token: string }, body: unknown) => world.call("POST", agentPath(), { agent: agent.token, body });
const list = async (query = "") => (await world.call("GET", userPath(query), { token: home.owner.token })).body;
const messages = async (query = "") => (await list(query)).items.map(({ message }: { message: string }) => message);
const storedComments = (id = task.id) => listEvents(world, { task_id: id, event_type: "task.comment" });

describe("posting a comment", () => {
  test("a person's comment is returned with its author and recorded as an activity event", async () => {
    const created = await post({ content: "  Looks *good*.\nShip it. ", tags: ["review", "ok"] });
    expect(created.status).toBe(200);
    const { id, created_at } = created.body;
    expect(created.body).toEqual({
      id,
      task_id: task.id,
      board_id: home.board_id,
      agent_id: null,
      user_id: owner_id,
      message: "Looks *good*.\nShip it.",
      content: "Looks *good*.\nShip it.",
      tags: ["review", "ok"],
      anchor: null,
      created_at,
    });
    expect(await storedComments()).toMatchObject([
      {
        id,
        event_type: "task.comment",
        organization_id: home.organization_id,
        board_id: home.board_id,
        agent_id: null,
        user_id: owner_id,
        message: "Looks *good*.\nShip it.",
        tags: ["review", "ok"],
      },
    ]);
  });

  test("an agent's comment is returned with its author, at both paths", async () => {
    const created = await postAs(home.worker, { content: "Done" });
    expect(created.body).toMatchObject({ agent_id: home.worker.id, user_id: null, message: "Done", tags: [] });
    for (const [path, who] of [
      [userPath(), { token: home.owner.token }],
      [userPath(), { agent: home.worker.token }],
      [agentPath(), { agent: home.lead.token }],
    ] as const)
      expect((await world.call("GET", path, who)).body).toEqual({ items: [created.body], total: 1, limit: 200, offset: 0 });
  });

  test("a comment may be sent as content or message, and content takes precedence", async () => {
    expect((await post({ message: "as message" })).body).toMatchObject({ content: "as message", message: "as message" });
    expect((await post({ content: "as content", message: "as message" })).body.content).toBe("as content");
  });

  test("a comment's author is taken from the credential, and its task from the path", async () => {
    const other = await addTask(world, home);
    const forged = { content: "x", agent_id: home.lead.id, user_id: owner_id, task_id: other.id, created_at: "2000-01-01" };
    const created = (await postAs(home.worker, forged)).body;
    expect(created).toMatchObject({ agent_id: home.worker.id, user_id: null, task_id: task.id });
    expect(Date.parse(created.created_at)).toBeGreaterThan(Date.parse("2001-01-01"));
  });

  test.each([[["a,b", "{c}", 'say "d"', "back\\slash", "NULL", "", " e ", "ünï"]], [[]], [null]])(
    "a comment is returned with its tags as sent: %j",
    async (tags) => {
      const created = (await post({ content: "tagged", tags })).body;
      expect(created.tags).toEqual(tags ?? []);
      expect((await list()).items).toEqual([created]);
    },
  );

  test("a comment does not change the row of its task", async () => {
    await postAs(home.worker, { content: "hi" });
    expect(await world.db.select().from(tasks).where(eq(tasks.id, task.id))).toEqual([task]);
  });
});

describe("invalid comments", () => {
  test.each([
    [{}, [["missing", "content"]]],
    [undefined, [["missing", "content"]]],
    [{ tags: ["t"] }, [["missing", "content"]]],
    [
      { tags: "t" },
      [
        ["missing", "content"],
        ["list_type", "tags"],
      ],
    ],
    [{ content: "" }, [["string_too_short", "content"]]],
    [{ content: " \n\t" }, [["string_too_short", "content"]]],
    [{ message: " " }, [["string_too_short", "message"]]],
    [{ content: " ", message: "a message" }, [["string_too_short", "content"]]],
    [{ content: null, message: "a message" }, [["string_type", "content"]]],
    [{ content: 5 }, [["string_type", "content"]]],
    [{ message: ["x"] }, [["string_type", "message"]]],
    [{ content: "c".repeat(100_001) }, [["string_too_long", "content"]]],
    [{ content: "c", tags: [5] }, [["string_type", "tags", 0]]],
    [{ content: "c", tags: ["t".repeat(201)] }, [["string_too_long", "tags", 0]]],
    [{ content: "c", tags: Array(51).fill("t") }, [["too_long", "tags"]]],
    [{ content: "a\0b" }, [["value_error", "content"]]],
    [{ content: "\ud800" }, [["value_error", "content"]]],
    [[], [["model_attributes_type"]]],
    ["text", [["model_attributes_type"]]],
  ] as [unknown, [string, ...(string | number)[]][]][])(
    "an invalid comment is refused and its field is named: %.50j",
    async (body, problems) => {
      for (const refused of [await post(body), await postAs(home.worker, body)])
        expect([refused.status, refused.body.detail]).toMatchObject([
          422,
          problems.map(([type, ...field]) => ({ type, loc: ["body", ...field] })),
        ]);
      expect(await storedComments()).toEqual([]);
    },
  );

  test("a comment of the maximum length is accepted", async () => {
    const body = { content: "c".repeat(100_000), tags: Array(50).fill("t".repeat(200)) };
    expect((await post(body)).body).toMatchObject(body);
  });
});

describe("the list of comments", () => {
  test("the comments of a task, and no others, are listed oldest first, by page", async () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const other = await addTask(world, home);
    const event = { organization_id: home.organization_id, board_id: home.board_id, task_id: task.id };
    const comment = { ...event, event_type: "task.comment" };
    await world.db.insert(activity_events).values([
      { ...comment, message: "third", created_at: at(3) },
      { ...comment, message: "first", created_at: at(1) },
      { ...event, event_type: "task.updated", message: "no comment", created_at: at(1) },
      { ...comment, message: "of another", task_id: other.id, created_at: at(1) },
      { ...comment, message: "second", created_at: at(2) },
    ]);
    expect(await messages()).toEqual(["first", "second", "third"]);
    expect(await list("?limit=1&offset=1")).toMatchObject({ items: [{ message: "second" }], total: 3, limit: 1, offset: 1 });
    expect(await list("?offset=3")).toEqual({ items: [], total: 3, limit: 200, offset: 3 });
  });

  test("comments of the same time are listed in the order in which they were written", async () => {
    const comment = { organization_id: home.organization_id, board_id: home.board_id, task_id: task.id };
    const created_at = new Date();
    const texts = Array.from({ length: 20 }, (_, index) => `${index}`);
    for (const message of texts)
      await world.db.insert(activity_events).values({ ...comment, event_type: "task.comment", message, created_at });
    expect(await messages()).toEqual(texts);
    expect([...(await messages("?limit=7")), ...(await messages("?limit=13&offset=7"))]).toEqual(texts);
  });

  test("the list of a task without comments is empty", async () => {
    expect(await list()).toEqual({ items: [], total: 0, limit: 200, offset: 0 });
    expect(await list("?offset=5")).toEqual({ items: [], total: 0, limit: 200, offset: 5 });
  });

  test.each(["limit=0", "limit=201", "limit=x", "offset=-1"])("an invalid comment list query is refused: %s", async (query) => {
    for (const [path, who] of [
      [userPath(`?${query}`), { token: home.owner.token }],
      [agentPath(`?${query}`), { agent: home.worker.token }],
    ] as const) {
      const refused = await world.call("GET", path, who);
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["query", query.split("=")[0]] }]]);
    }
  });
});

describe("access to comments", () => {
  const comment = { content: "hi" };

  test("lead, worker and the gateway's main agent may read and post comments", async () => {
    const main = await actAsMainAgent(world, home.gateway_id);
    for (const agent of [home.lead, home.worker, main])
      for (const path of [userPath(), agentPath()]) {
        expect((await world.call("POST", path, { agent: agent.token, body: comment })).body.agent_id).toBe(agent.id);
        expect((await world.call("GET", path, { agent: agent.token })).status).toBe(200);
      }
  });

  test("a malformed task id is refused before any other check", async () => {
    const refused = await world.call("POST", userPath("", "no-id"), { token: home.owner.token, raw: "{" });
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type: "uuid_parsing", loc: ["path", "task_id"] }]]);
  });
});

describe("statements of comment requests", () => {
  test("a list takes two statements for any number of comments, and three when it is empty", async () => {
    expect(await world.countStatements(() => list())).toBe(3);
    for (let index = 0; index < 5; index++) await post({ content: `${index}` });
    expect(await world.countStatements(() => list())).toBe(2);
  });

  test("a comment takes three statements, and four when it may notify an agent", async () => {
    expect(await world.countStatements(() => post({ content: "hi" }))).toBe(3);
    expect(await world.countStatements(() => post({ content: "@worker, @lead" }))).toBe(4);
  });
});
