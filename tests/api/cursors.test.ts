import { endpoints } from "@board/api/groups";
import { pageOf } from "@board/core/lists/page";
import { Tag } from "@board/core/tag/tag";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";
import { openPagedLists, type PagedList } from "./paged-lists.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const lists = await openPagedLists(world, home);

const withQuery = (url: string, query: string) => `${url}${url.includes("?") ? "&" : "?"}${query}`;
const nextOf = (headers: Headers): string | null => /^<([^<>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1] ?? null;
const read = async (list: Pick<PagedList, "who">, url: string) => {
  const answer = await world.call("GET", url, list.who);
  expect(answer.status, url).toBeLessThan(500);
  return answer;
};
const cursorOf = async (list: PagedList) => {
  const { headers } = await read(list, withQuery(list.url, "cursor=&limit=1"));
  return new URL(nextOf(headers)!, "http://localhost").searchParams.get("cursor")!;
};

/** Follows the Link headers to the end of a list, and calls `between` before each further page. */
async function readAll(list: PagedList, limit: number, between?: () => Promise<void>): Promise<string[]> {
  const ids: string[] = [];
  let url: string | null = withQuery(list.url, `cursor=&limit=${limit}`);
  for (let page = 0; url !== null && page < 1_000; page++) {
    if (page > 0) await between?.();
    const { status, body, headers } = await read(list, url);
    expect([status, body.total, body.offset, body.limit]).toEqual([200, -1, 0, limit]);
    url = nextOf(headers);
    expect(body.items.length === limit || url === null).toBe(true);
    ids.push(...body.items.map(({ id }: { id: string }) => id));
  }
  return ids;
}

const readByOffset = async (list: PagedList): Promise<string[]> => {
  const url = withQuery(list.url, list.path.startsWith("/api/activity") ? "limit=100" : "limit=200");
  return (await read(list, url)).body.items.map(({ id }: { id: string }) => id);
};

const isPage = ({ returns }: { returns: z.ZodType }) =>
  returns instanceof z.ZodObject && ["items", "total", "limit", "offset"].every((name) => name in returns.shape);

test("every list with pages takes a cursor and is covered by these tests", () => {
  const paths = endpoints.filter(({ spec }) => isPage(spec)).flatMap((endpoint) => endpoint.paths);
  expect(paths).toContain("/api/v1/tags");
  expect([...new Set(lists.map(({ path }) => path))].toSorted()).toEqual([...new Set(paths)].toSorted());
  expect(isPage({ returns: pageOf(Tag) })).toBe(true);
});

/** The rows of a list are created at these few times, so that many rows have equal times. */
const times = Array.from({ length: 4 }, (_, index) => new Date(Date.UTC(2026, 0, 1) + index));

/** What happens between two pages: rows are added at these times, and some of the added rows are removed. */
const change = fc.record({
  added: fc.array(fc.constantFrom(...times), { maxLength: 3 }),
  removed: fc.array(fc.nat(), { maxLength: 2 }),
});
const walk = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  first: fc.array(fc.constantFrom(...times), { minLength: 5, maxLength: 12 }),
  changes: fc.array(change, { maxLength: 6 }),
});

test("rows that are added and removed while a list is paged neither hide nor repeat a row that stays", async () => {
  for (const list of lists)
    await fc.assert(
      fc.asyncProperty(walk, async ({ limit, first, changes }) => {
        const added: string[] = [];
        for (const time of first) added.push(await list.add(time));
        const before = new Set(await readByOffset(list));
        const left = changes.values();
        const seen = await readAll(list, limit, async () => {
          const next = left.next().value;
          if (!next) return;
          for (const time of next.added) added.push(await list.add(time));
          const removed = next.removed.flatMap((index) => added.splice(index % Math.max(1, added.length), 1));
          if (removed.length > 0) await list.remove(removed);
        });
        const after = await readByOffset(list);
        const stayed = after.filter((id) => before.has(id));
        expect(new Set(seen).size, list.url).toBe(seen.length);
        expect(
          seen.filter((id) => stayed.includes(id)),
          list.url,
        ).toEqual(stayed);
        await list.remove(added);
      }),
      { numRuns: 3 },
    );
});

describe("a cursor", () => {
  beforeAll(async () => {
    for (const list of lists) for (const time of times) await list.add(time);
  });

  test("the cursors of each list lead through the whole list in its order", async () => {
    for (const list of lists) expect(await readAll(list, 3), list.url).toEqual(await readByOffset(list));
  });

  test("a cursor continues after a page that was read by offset, and that page still has its total", async () => {
    for (const list of lists) {
      const { body, headers } = await read(list, withQuery(list.url, "limit=2&offset=1"));
      expect(body.total, list.url).toBeGreaterThan(3);
      const url = nextOf(headers)!;
      expect(url).not.toContain("offset=");
      const rest = await read(list, url);
      const expected = (await readByOffset(list)).slice(3, 5);
      expect(
        rest.body.items.map(({ id }: { id: string }) => id),
        list.url,
      ).toEqual(expected);
    }
  });

  test("a cursor of another list, filter or order is refused with a text that says how to continue", async () => {
    const cursors = await Promise.all(lists.map(cursorOf));
    const refused = { detail: expect.stringContaining("start again with an empty cursor") };
    for (const [index, list] of lists.entries()) {
      // Both addresses of a list share its cursors, and so do the lists of people and of agents. Therefore the cursor comes from
      // the list seven places further on.
      const foreign = cursors[(index + 7) % lists.length]!;
      const answer = await read(list, withQuery(list.url, `cursor=${foreign}`));
      expect([answer.status, answer.body], `${list.url} ${lists[(index + 7) % lists.length]!.url}`).toEqual([422, refused]);
    }
    const tasks = lists.find(({ path }) => path.endsWith("/tasks"))!;
    const own = await cursorOf(tasks);
    for (const query of ["status=inbox", "sort=due_at", "sort=-created_at", "q=ann", "unassigned=true"])
      expect((await read(tasks, withQuery(tasks.url, `${query}&cursor=${own}`))).status, query).toBe(422);
    expect((await read(tasks, withQuery(tasks.url, `limit=7&cursor=${own}`))).status).toBe(200);
  });

  test("a cursor of another organization or another board is refused", async () => {
    const tags = lists[0]!;
    const who = { token: abroad.owner.token };
    expect((await read({ who }, `${tags.path}?cursor=${await cursorOf(tags)}`)).status).toBe(422);
    const tasks = lists.find(({ path }) => path.endsWith("/tasks"))!;
    const url = tasks.url.replace(home.board_id, abroad.board_id);
    expect((await read({ who }, `${url}?cursor=${await cursorOf(tasks)}`)).status).toBe(422);
  });

  test("a cursor that was changed, cut or made up is refused", async () => {
    const tags = lists[0]!;
    const cursor = await cursorOf(tags);
    const bytes = Buffer.from(cursor, "base64url");
    const changed = bytes.map((byte, index) => (index === bytes.length - 3 ? byte ^ 1 : byte));
    const made = [
      Buffer.from(changed).toString("base64url"),
      cursor.slice(0, -2),
      cursor.slice(0, 10),
      "x",
      "null",
      "%00",
      "%f0%9f",
      "[]",
    ];
    for (const value of [...made, "x".repeat(4_001)])
      expect((await read(tags, `${tags.url}?cursor=${value}`)).status, value.slice(0, 50)).toBe(422);
  });

  test("a page by cursor does not count the total", async () => {
    for (const list of lists) {
      const url = withQuery(list.url, `limit=2&cursor=${await cursorOf(list)}`);
      world.statements.length = 0;
      expect((await read(list, url)).body.total).toBe(-1);
      expect(
        world.statements.filter(
          (statement) => /count\(\*\)(?! from "tag_assignments")/.test(statement) && !/ over /.test(statement),
        ),
        list.url,
      ).toEqual([]);
    }
  });
});

test("neither the last page of a list nor an empty list has a Link header", async () => {
  const who = { token: abroad.owner.token };
  const { body, headers } = await read({ who }, "/api/v1/tags?cursor=");
  expect([body.items, body.total, headers.get("link")]).toEqual([[], -1, null]);
  const boards = await read({ who }, "/api/v1/boards?limit=1");
  expect([boards.body.total, boards.headers.get("link")]).toEqual([1, null]);
});

test("the Link header is absolute when BASE_URL is set, keeps the other parameters, and is readable by pages of other origins", async () => {
  const environment = { BASE_URL: "https://boards.example.com", CORS_ORIGINS: "https://console.example.com" };
  const other = await createWorld({ environment });
  try {
    const { owner } = await other.tenant("absolute");
    for (const name of ["A", "B"]) await other.call("POST", "/api/v1/tags", { token: owner.token, body: { name } });
    const headers = { origin: "https://console.example.com" };
    const answer = await other.call("GET", "/api/v1/tags?limit=1&x=%3E%22%0d&offset=0", { token: owner.token, headers });
    expect(answer.headers.get("link")).toMatch(
      /^<https:\/\/boards\.example\.com\/api\/v1\/tags\?limit=1&x=%3E%22%0D&cursor=[\w-]+>; rel="next"$/,
    );
    expect(answer.headers.get("access-control-expose-headers")).toContain("Link");
  } finally {
    await other.close();
  }
});
