import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const PREFIXES = ["/api/souls-directory", "/api/v1/souls-directory"];
const [BASE] = PREFIXES;

const world = await setupWorld();
const home = await world.tenant("home");

const get = (path: string, prefix = BASE) => world.call("GET", `${prefix}${path}`, { token: home.owner.token });
const slugs = async (query: string): Promise<string[]> =>
  (await get(`/search?${query}`)).body.items.map(({ slug }: { slug: string }) => slug);

test("the built-in directory has souls for common roles, and has them under both path prefixes", async () => {
  const [first, second] = await Promise.all(PREFIXES.map((prefix) => get("/search", prefix)));
  expect(first!.status).toBe(200);
  expect(second!.body).toEqual(first!.body);
  expect(first!.body.items.length).toBeGreaterThanOrEqual(12);
  expect(first!.body.items[0]).toEqual({
    handle: "board",
    slug: "lead-coordinator",
    page_url: "/api/souls-directory/board/lead-coordinator",
    raw_md_url: "/api/souls-directory/board/lead-coordinator.md",
  });
});

test("every soul can be read at the addresses in the search results, and can be an agent's SOUL.md", async () => {
  for (const { handle, slug, page_url, raw_md_url } of (await get("/search?limit=100")).body.items) {
    const page = await get(page_url, "");
    expect(page.body).toEqual({ handle, slug, content: expect.any(String) });
    expect((await get(raw_md_url, "")).body).toEqual(page.body);
    expect((await get(`/${handle}/${slug}`, PREFIXES[1])).body).toEqual(page.body);
    const { content } = page.body as { content: string };
    expect(content.length, slug).toBeGreaterThan(1_500);
    expect(content.length, slug).toBeLessThan(3_000);
    expect(content, slug).toMatch(/^# \S.+\n\nYou /);
    expect(content, slug).not.toMatch(/\{\{|\{%|\$\{|<!--|^[A-Z0-9_]+=/m);
    for (const part of ["How you think", "What you do first", "What you never do", "How you speak"])
      expect(content, slug).toContain(`\n## ${part}\n`);
  }
});

test("a search finds a part of handle and slug in any case, in the directory's order", async () => {
  const all = await slugs("");
  expect(await slugs("q=%20")).toEqual(all);
  expect(await slugs("q=ENGINEER")).toEqual(all.filter((slug) => slug.includes("engineer")));
  expect(await slugs("q=%20RD/Writ%20")).toEqual(["writer"]);
  expect(await slugs("q=_")).toEqual([]);
  expect(await slugs("q=nobody")).toEqual([]);
  expect(await slugs("limit=2")).toEqual(all.slice(0, 2));
  expect(await slugs("q=engineer&limit=1")).toEqual(["engineer"]);
});

test.each([
  ["limit=0", "greater_than_equal", "limit"],
  ["limit=101", "less_than_equal", "limit"],
  ["limit=many", "int_type", "limit"],
  [`q=${"x".repeat(201)}`, "string_too_long", "q"],
])("a search with an invalid parameter is refused: %s", async (query, type, field) => {
  const answer = await get(`/search?${query}`);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ type, loc: ["query", field] }]);
});

test("spaces around a name and one .md at its end are ignored", async () => {
  for (const path of ["/board/writer.md", "/%20board%09/%20writer%20", "/board/writer.md%0a", "/board/writer/"])
    expect((await get(path)).body, path).toMatchObject({ handle: "board", slug: "writer" });
});

test.each(["/board/%20", "/%20/writer", "/board/.md", "/board/%20.md"])(
  "the path %s with an empty name is refused with 422, required",
  async (path) => {
    const answer = await get(path);
    expect([answer.status, answer.body]).toEqual([422, { detail: expect.stringContaining("required") }]);
  },
);

test.each([
  "/board/writer.md.md",
  "/board/writer.txt",
  "/board/-writer",
  "/board/_writer",
  "/board/wri%20ter",
  "/board/%2e%2e%2fwriter",
  "/%2e%2e%5c/writer",
  "/bo%00ard/writer",
  "/board/schr%C3%ADbend",
  "/board/{{slug}}",
  "/board/wr%0aiter",
])("the path %s with unsupported characters is refused with 422", async (path) => {
  const answer = await get(path);
  expect([answer.status, answer.body]).toEqual([422, { detail: expect.stringContaining("unsupported characters") }]);
});

test.each(["/board/nobody", "/nobody/writer", "/Board/writer", "/board/WRITER", "/board/constructor", "/board/writer_"])(
  "the path %s of an unknown soul gives 404",
  async (path) => {
    const answer = await get(path);
    expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
  },
);

test("reading the directory takes no database statements beyond authentication", async () => {
  // The first request of an agent records its presence.
  await world.call("GET", `${BASE}/search`, { agent: home.worker.token });
  for (const path of ["/search", "/board/writer"]) {
    world.statements.length = 0;
    await world.call("GET", `${BASE}${path}`, { agent: home.worker.token });
    expect(world.statements, path).toHaveLength(1);
  }
});

test("with BASE_URL the addresses are absolute", async () => {
  const abroad = await createWorld({ environment: { BASE_URL: "https://board.example/" } });
  try {
    const { owner } = await abroad.tenant("abroad");
    const { items } = (await abroad.call("GET", `${BASE}/search?q=writer`, { token: owner.token })).body;
    expect(items).toEqual([
      {
        handle: "board",
        slug: "writer",
        page_url: "https://board.example/api/souls-directory/board/writer",
        raw_md_url: "https://board.example/api/souls-directory/board/writer.md",
      },
    ]);
  } finally {
    await abroad.close();
  }
});
