import { beforeEach, expect, test } from "vitest";
import { DIRECTORY, startFakeSoulsDirectory } from "../support/fake-souls-directory.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const BASE = "/api/souls-directory";
const HOUR_MS = 3_600_000;
const REST_MS = 30_000;

const remote = await setup(startFakeSoulsDirectory());
const world = await setupWorld({ web: remote.web, environment: { SOULS_DIRECTORY_URL: `${DIRECTORY}/` } });
const home = await world.tenant("home");

beforeEach(() => {
  // Lets the cache entries of earlier tests expire.
  world.elapse(HOUR_MS);
  remote.requests.length = 0;
  remote.isDown = false;
  remote.gate = null;
  remote.publish({ "ann/writer": "# Writer\n\nYou write.", "bob/reviewer": "# Reviewer" });
});

const get = (path: string) => world.call("GET", `${BASE}${path}`, { agent: home.worker.token });
const found = async (query = "limit=100"): Promise<string[]> =>
  (await get(`/search?${query}`)).body.items.map(({ handle, slug }: { handle: string; slug: string }) => `${handle}/${slug}`);
const index = (body: string) => remote.pages.set("/sitemap.xml", `<urlset>${body}</urlset>`);
const loc = (url: string) => `<url><loc>${url}</loc></url>`;
const FAILED = { status: 502, body: { detail: expect.stringMatching(/^Souls directory failed: ./) } };

// This must be the first test: the cache is still empty.
test("a directory that fails while the cache is empty gives 502, and is requested again the next time", async () => {
  remote.isDown = true;
  for (const path of ["/search", "/ann/writer"]) expect(await get(path)).toMatchObject(FAILED);
  expect(world.log).toContainEqual(expect.objectContaining({ level: "warn", event: "souls.directory_failed" }));
  remote.isDown = false;
  for (const path of ["/search", "/ann/writer"]) expect((await get(path)).status).toBe(200);
});

test("a remote directory is searched by its sitemap, and the results have its addresses", async () => {
  expect((await get("/search?q=WRITER")).body).toEqual({
    items: [
      {
        handle: "ann",
        slug: "writer",
        page_url: "https://souls.example/souls/ann/writer",
        raw_md_url: "https://souls.example/api/souls/ann/writer.md",
      },
    ],
  });
  expect(await found()).toEqual(["ann/writer", "bob/reviewer"]);
  expect(await found("limit=1")).toEqual(["ann/writer"]);
  expect(remote.requests).toEqual(["/sitemap.xml"]);
});

test("a text is fetched from the directory's address for texts, with or without .md", async () => {
  const writer = { handle: "ann", slug: "writer", content: "# Writer\n\nYou write." };
  expect((await get("/ann/writer")).body).toEqual(writer);
  expect((await get("/ann/writer.md")).body).toEqual(writer);
  expect(remote.requests).toEqual(["/api/souls/ann/writer.md"]);
});

test("only the locations of souls in a sitemap count, each once, in their order", async () => {
  index(
    [
      "<!-- <loc>https://souls.example/souls/old/comment</loc> -->",
      loc("https://souls.example/"),
      loc("\n  https://souls.example/souls/zoe/last-first \n"),
      loc("https://www.souls.example/en/souls/amy/with-prefix/"),
      loc("/souls/bea/relative"),
      loc("https://souls.example/souls/cy/query?a=1&amp;b=2#part"),
      loc("https://souls.example/souls/d&#45;d/ent&#x2D;ity"),
      loc("<![CDATA[https://souls.example/souls/eve/quoted]]>"),
      loc("https://souls.example/souls/zoe/last-first"),
      loc("https://souls.example/souls/fay"),
      loc("https://souls.example/souls/fay/one/two"),
      loc("https://souls.example/souls/fay/pic.png"),
      loc("https://souls.example/souls/../secret"),
      loc("https://souls.example/souls/%66ay/x"),
      loc("https://souls.example/souls/f%2Fa/x"),
      loc("https://souls.example/souls/fay/-x"),
      loc(`https://souls.example/souls/fay/${"x".repeat(201)}`),
      loc("https://souls.example/skills/fay/x"),
      loc("https://souls.example/api/soulsx/fay/x"),
      loc("http://[/souls/fay/x"),
      loc("&unknown;&lt;/souls/gus/odd"),
      loc("https://souls.example/souls/fay/x&#1114112;"),
      "<image:loc>https://souls.example/souls/fay/image</image:loc>",
      "<loc>https://souls.example/souls/fay/unclosed",
      "<!-- the rest <loc>https://souls.example/souls/fay/x</loc>",
    ].join("\n"),
  );
  expect(await found()).toEqual([
    "zoe/last-first",
    "amy/with-prefix",
    "bea/relative",
    "cy/query",
    "d-d/ent-ity",
    "eve/quoted",
    "gus/odd",
  ]);
});

test.each([
  ["locations that never end", "<loc>".repeat(200_000)],
  ["comments that never end", "<!--".repeat(250_000)],
  ["quotations that never end", "<loc><![CDATA[".repeat(70_000)],
  ["white space", `<loc>${" ".repeat(1_000_000)}`],
])("a sitemap that contains only %s is parsed as quickly as others", async (_what, body) => {
  index(body);
  expect(await found()).toEqual([]);
});

test("fetched data is cached for an hour and then fetched again", async () => {
  await found();
  await get("/ann/writer");
  remote.publish({ "ann/writer": "# New", "cat/newcomer": "# Newcomer" });
  world.elapse(HOUR_MS - 60_000);
  expect(await found()).toEqual(["ann/writer", "bob/reviewer"]);
  expect((await get("/ann/writer")).body.content).toBe("# Writer\n\nYou write.");
  expect(remote.requests).toHaveLength(2);
  world.elapse(60_000);
  expect(await found()).toEqual(["ann/writer", "cat/newcomer"]);
  expect((await get("/ann/writer")).body.content).toBe("# New");
  expect(remote.requests).toHaveLength(4);
});

test("while the directory fails, cached data is served, and the directory is requested only at intervals", async () => {
  await found();
  await get("/ann/writer");
  remote.isDown = true;
  world.elapse(HOUR_MS);
  remote.requests.length = 0;
  for (let round = 0; round < 3; round += 1) {
    expect(await found()).toEqual(["ann/writer", "bob/reviewer"]);
    expect((await get("/ann/writer")).body.content).toBe("# Writer\n\nYou write.");
  }
  expect(remote.requests).toHaveLength(2);
  world.elapse(24 * HOUR_MS);
  expect(await found()).toEqual(["ann/writer", "bob/reviewer"]);
  remote.publish({ "ann/writer": "# Back" });
  remote.isDown = false;
  world.elapse(REST_MS);
  expect(await found()).toEqual(["ann/writer"]);
  expect((await get("/ann/writer")).body.content).toBe("# Back");
});

test.each([
  ["is not a sitemap", "<html><body>Welcome</body></html>"],
  ["is a redirect", { status: 301, headers: { location: `${DIRECTORY}/other.xml` } }],
  ["is not there", { status: 404 }],
  ["is broken", { status: 500, text: "<urlset></urlset>" }],
  ["is too large", `<urlset>${" ".repeat(1_048_576)}</urlset>`],
])("when an index %s, the cached one is kept", async (_what, page) => {
  await found();
  world.elapse(HOUR_MS);
  remote.pages.set("/sitemap.xml", page);
  remote.pages.set("/other.xml", `<urlset>${loc(`${DIRECTORY}/souls/eve/elsewhere`)}</urlset>`);
  expect(await found()).toEqual(["ann/writer", "bob/reviewer"]);
  expect(remote.requests).toEqual(["/sitemap.xml", "/sitemap.xml"]);
});

test("a text that cannot be fetched gives 502, and a missing one 404", async () => {
  remote.pages.set("/api/souls/ann/moved.md", { status: 302, headers: { location: "/api/souls/ann/writer.md" } });
  remote.pages.set("/api/souls/ann/broken.md", { status: 503 });
  remote.pages.set("/api/souls/ann/huge.md", "x".repeat(1_048_577));
  for (const slug of ["moved", "broken", "huge"]) expect(await get(`/ann/${slug}`), slug).toMatchObject(FAILED);
  remote.pages.set("/api/souls/ann/gone.md", { status: 410 });
  for (const slug of ["gone", "nobody"])
    expect(await get(`/ann/${slug}`)).toMatchObject({ status: 404, body: { detail: "Not Found" } });
  remote.pages.set("/api/souls/ann/nobody.md", "# Somebody");
  expect((await get("/ann/nobody")).body.content).toBe("# Somebody");
});

test("a text that was deleted from the directory is gone after the next fetch", async () => {
  await get("/ann/writer");
  remote.publish({});
  expect((await get("/ann/writer")).status).toBe(200);
  world.elapse(HOUR_MS);
  expect((await get("/ann/writer")).status).toBe(404);
  remote.isDown = true;
  expect(await get("/ann/writer")).toMatchObject(FAILED);
});

test("a name with unsupported characters is never requested from the directory", async () => {
  for (const path of ["/ann/wri%20ter", "/%2e%2e%5c/writer", "/ann/%2e%2e%2fx", "/ann/x%3fy"])
    expect((await get(path)).status).toBe(422);
  expect(remote.requests).toEqual([]);
});

test("simultaneous requests wait for one fetch", async () => {
  const opened = Promise.withResolvers<void>();
  remote.gate = opened.promise;
  const asking = [1, 2, 3].flatMap(() => [get("/search"), get("/ann/writer"), get("/bob/reviewer")]);
  await expect.poll(() => remote.requests.length, { timeout: 10_000 }).toBe(3);
  opened.resolve();
  expect((await Promise.all(asking)).map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 200));
  expect(remote.requests.toSorted()).toEqual(["/api/souls/ann/writer.md", "/api/souls/bob/reviewer.md", "/sitemap.xml"]);
});

test("the cache of texts is bounded, and the least recently used texts are fetched again", async () => {
  const names = Array.from({ length: 9 }, (_, position) => `ann/long-${position}`);
  remote.publish(Object.fromEntries(names.map((name) => [name, "x".repeat(1_048_576)])));
  for (const name of names.slice(0, 8)) await get(`/${name}`);
  await get(`/${names[0]}`);
  await get(`/${names[8]}`);
  remote.requests.length = 0;
  for (const name of [names[0], names[8], names[1]]) expect((await get(`/${name}`)).status).toBe(200);
  expect(remote.requests).toEqual(["/api/souls/ann/long-1.md"]);
});
