import { agents, organization_members } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { FEED, grantRead, addReader, postComment, storeComments } from "../support/feed.ts";
import { addTask } from "../support/task.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

/** A new board of the home organization for each test, with a task on it. */
let board_id: string;

const world = await setupWorld();
const home = await world.tenant("home");

let boards = 0;
beforeEach(async () => {
  ({ board_id } = await addBoard(world, home, `Board ${++boards}`));
});
const task = renew(() => addTask(world, { board_id }, { title: "Ship it" }));

const list = async (query = "", token = home.owner.token) => (await world.call("GET", FEED + query, { token })).body;
const ofBoard = (query = "", token?: string) => list(`?board_id=${board_id}${query}`, token);
const messages = ({ items }: { items: { message: string }[] }) => items.map(({ message }) => message);
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));

describe("a comment in the feed", () => {
  test("a comment in the feed shows its text, its time, its board and its task", async () => {
    const id = await postComment(world, home, task, "Looks *good*.\nShip it.");
    const { items, total } = await ofBoard();
    expect(total).toBe(1);
    expect(items).toEqual([
      {
        id,
        created_at: items[0].created_at,
        message: "Looks *good*.\nShip it.",
        agent_id: null,
        agent_name: null,
        agent_role: null,
        task_id: task.id,
        task_title: "Ship it",
        board_id,
        board_name: `Board ${boards}`,
      },
    ]);
    expect(items[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test.each([
    [{ role: " Reviewer " }, "Reviewer"],
    [{ role: "  " }, null],
    [{ emoji: ":eye:" }, null],
    [null, null],
  ])(
    "with the identity profile %j, a comment in the feed has the agent's name and the expected role",
    async (identity_profile, agent_role) => {
      const own = eq(agents.id, home.worker.id);
      await world.db.update(agents).set({ identity_profile }).where(own);
      const onHome = await addTask(world, home);
      const path = `/api/v1/agent/boards/${home.board_id}/tasks/${onHome.id}/comments`;
      const { id } = (await world.call("POST", path, { agent: home.worker.token, body: { message: "Done" } })).body;
      expect((await list(`?board_id=${home.board_id}&limit=1`)).items).toMatchObject([
        { id, agent_id: home.worker.id, agent_name: "Worker", agent_role },
      ]);
    },
  );

  test("a comment stays in the feed when its agent is deleted, and disappears when its task is deleted", async () => {
    const { id: agent_id } = (
      await world.call("POST", "/api/v1/agents", {
        token: home.owner.token,
        body: { name: "Leaving", board_id: home.board_id },
      })
    ).body;
    await storeComments(world, home, task, [{ message: "by an agent", agent_id }]);
    expect((await ofBoard()).items).toMatchObject([{ agent_id, agent_name: "Leaving" }]);
    await world.call("DELETE", `/api/v1/agents/${agent_id}`, { token: home.owner.token });
    expect((await ofBoard()).items).toMatchObject([
      { message: "by an agent", agent_id: null, agent_name: null, agent_role: null },
    ]);
    await world.call("DELETE", `/api/v1/boards/${board_id}/tasks/${task.id}`, { token: home.owner.token });
    expect(await ofBoard()).toMatchObject({ items: [], total: 0 });
  });

  test("the feed has only comments that have a text and a task", async () => {
    const blank = [" ", "", "\n\t ", "\u00a0\u2003\u3000\ufeff\u2028", null].map((message) => ({ message }));
    await storeComments(world, home, task, blank);
    await storeComments(world, home, null, [{ message: "of nothing" }, { message: "of a removed task", board_id }]);
    await storeComments(world, home, task, [{ message: "Task created", event_type: "task.created" }]);
    await storeComments(world, home, task, [{ message: "\u00a0 x \u3000" }]);
    expect(messages(await ofBoard())).toEqual(["\u00a0 x \u3000"]);
    expect(messages(await list("?limit=1"))).toEqual(["\u00a0 x \u3000"]);
  });
});

describe("pages of the feed", () => {
  test("pages go from the newest comment to the oldest, across boards and by board, with the true total", async () => {
    const tenant = await world.tenant("pages");
    const boards = [tenant.board_id, (await addBoard(world, tenant, "Second")).board_id];
    const places = [await addTask(world, { board_id: boards[0]! }), await addTask(world, { board_id: boards[1]! })];
    for (let n = 0; n < 7; n++) await storeComments(world, tenant, places[n % 2]!, [{ message: `${n}`, created_at: at(n) }]);
    const granted = await addReader(world, tenant, "reader of pages", boards);
    for (const token of [tenant.owner.token, granted.token]) {
      const page = (query: string) => list(query, token);
      expect(messages(await page(""))).toEqual(["6", "5", "4", "3", "2", "1", "0"]);
      const pages = [await page("?limit=3"), await page("?limit=3&offset=3"), await page("?limit=3&offset=6")];
      expect(pages.map(messages)).toEqual([["6", "5", "4"], ["3", "2", "1"], ["0"]]);
      expect(pages.map(({ total, limit, offset }) => [total, limit, offset])).toEqual([
        [7, 3, 0],
        [7, 3, 3],
        [7, 3, 6],
      ]);
      expect(await page("?offset=100")).toEqual({ items: [], total: 7, limit: 50, offset: 100 });
      const one = await page(`?board_id=${boards[1]}&limit=2&offset=1`);
      expect([messages(one), one.total]).toEqual([["3", "1"], 3]);
      expect(await page(`?board_id=${boards[1]}&offset=2147483647`)).toMatchObject({ items: [], total: 3 });
    }
  });

  test("comments of the same moment are ordered by id, so that no comment is on two pages", async () => {
    const ids = await storeComments(
      world,
      home,
      task,
      Array.from({ length: 9 }, (_, n) => ({ message: `${n}`, created_at: at(0) })),
    );
    const seen: string[] = [];
    for (let offset = 0; offset < 9; offset += 2)
      seen.push(...(await ofBoard(`&limit=2&offset=${offset}`)).items.map(({ id }: { id: string }) => id));
    expect(seen).toEqual(ids.toSorted().toReversed());
  });

  test("a page of the feed has at most 200 comments, or 100 at the older address, and otherwise both addresses give the same answer", async () => {
    await postComment(world, home, task, "hello");
    const at = async (path: string) => (await world.call("GET", path, { token: home.owner.token })).body;
    const older = "/api/activity/task-comments";
    expect(await at(`${older}?board_id=${board_id}`)).toEqual(await at(`${FEED}?board_id=${board_id}`));
    expect((await at(`${FEED}?limit=200`)).limit).toBe(200);
    expect((await at(`${older}?limit=100`)).limit).toBe(100);
    for (const path of [`${FEED}?limit=201`, `${older}?limit=101`, `${FEED}?limit=0`, `${FEED}?offset=-1`])
      expect((await at(path)).detail[0].type, path).toMatch(/^(less|greater)_than_equal$/);
    expect((await at(`${FEED}?board_id=board`)).detail[0]).toMatchObject({ type: "uuid_parsing", loc: ["query", "board_id"] });
  });
});

describe("what a reader of the feed sees", () => {
  test("a reader sees the comments of the boards that they may read", async () => {
    const tenant = await world.tenant("seen");
    const second = (await addBoard(world, tenant, "Second")).board_id;
    await postComment(world, tenant, await addTask(world, tenant), "first");
    await postComment(world, tenant, await addTask(world, { board_id: second }), "second");
    const all = ["second", "first"];
    const cases: [string, "admin" | "member", { read?: boolean; write?: boolean }, string[], string[]][] = [
      ["a member with a right to read all", "member", { read: true }, [], all],
      ["a member with a right to write to all", "member", { write: true }, [], all],
      ["a member with a grant", "member", {}, [second], ["second"]],
      ["a member with two grants", "member", {}, [second, tenant.board_id], all],
      ["a member without any", "member", {}, [], []],
      ["an admin without any", "admin", {}, [], []],
      ["an admin with a grant", "admin", {}, [tenant.board_id], ["first"]],
    ];
    for (const [name, role, flags, grants, expected] of cases) {
      const person = await world.person(name);
      await grantRead(world, await world.join(person, tenant.organization_id, role, flags), grants);
      const seen = await list("", person.token);
      expect([messages(seen), seen.total], name).toEqual([expected, expected.length]);
      const open = await world.call("GET", `${FEED}?board_id=${second}`, { token: person.token });
      expect(open.status, name).toBe(expected.includes("second") ? 200 : 404);
    }
  });

  test("a board without comments gives an empty page at any offset, and an unreadable board gives 404", async () => {
    expect(await ofBoard()).toEqual({ items: [], total: 0, limit: 50, offset: 0 });
    await postComment(world, home, task, "secret");
    const closed = await addReader(world, home, "outside", []);
    expect(await ofBoard("&offset=50", closed.token)).toEqual({ detail: "Not Found" });
  });

  test("a former member can no longer read the feed", async () => {
    const person = await addReader(world, home, "leaving", [board_id]);
    await postComment(world, home, task, "for members");
    expect(messages(await list("", person.token))).toEqual(["for members"]);
    await world.db.delete(organization_members).where(eq(organization_members.id, person.member_id));
    expect(messages(await list("", person.token))).toEqual([]);
  });
});

test("a page of the feed takes two statements including authentication, and two more when the total must be counted", async () => {
  await postComment(world, home, task, "one");
  await postComment(world, home, task, "two");
  const granted = await addReader(world, home, "counting", [board_id]);
  const cost = (query: string, token: string) => world.countStatements(() => list(query, token));
  for (const token of [home.owner.token, granted.token])
    expect([
      await cost(`?board_id=${board_id}`, token),
      await cost("?limit=200", token),
      await cost(`?board_id=${board_id}&limit=1`, token),
      await cost("?limit=1", token),
    ]).toEqual([2, 2, 4, 4]);
});
