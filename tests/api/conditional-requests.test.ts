import { expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ environment: { CORS_ORIGINS: "https://app.example" } });
const home = await world.tenant("home");
const tasks: string = `/api/v1/boards/${home.board_id}/tasks`;
await addTask(world, home, { title: "Paint the fence" });

const get = (headers: Record<string, string> = {}, path = tasks, method = "GET") =>
  world.call(method, path, { token: home.owner.token, headers });
const tagOf = async () => (await get()).headers.get("etag")!;

test("every JSON answer to a read has a strong ETag, which changes when the answer does", async () => {
  const [first, again] = [await get(), await get()];
  expect(first.headers.get("etag")).toMatch(/^"[\w-]{43}"$/);
  expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
  expect(first.headers.get("cache-control")).toBe("private, no-cache");
  await addTask(world, home, { title: "Paint the gate" });
  expect(await tagOf()).not.toBe(first.headers.get("etag"));
});

test("a read with the current ETag is 304 without a body, and does not count as an error", async () => {
  const tag = await tagOf();
  const unchanged = await get({ "if-none-match": tag, origin: "https://app.example" });
  expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", tag]);
  expect(unchanged.headers.get("content-type")).toBe(null);
  expect(unchanged.headers.get("cache-control")).toBe("private, no-cache");
  expect(unchanged.headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect(unchanged.headers.get("x-request-id")).toBeTruthy();
});

test("If-None-Match may list several tags, weak tags and tags of other encodings, or be *", async () => {
  const tag = await tagOf();
  const inBrotli = tag.replace(/"$/, '-br"');
  for (const header of [`"other", ${tag}`, `W/${tag}`, inBrotli, tag.replace(/"$/, '-gzip"'), "*", ` ${tag} ,`])
    expect((await get({ "if-none-match": header })).status, header).toBe(304);
  // A 304 must repeat the tag of the request, because a cache only renews an answer that it stored under the tag of the 304.
  expect((await get({ "if-none-match": inBrotli })).headers.get("etag")).toBe(inBrotli);
});

test("a read with an ETag other than the current one is answered in full", async () => {
  const tag = await tagOf();
  const nearMisses = [
    '"other"',
    tag.slice(1, -1),
    tag.replace(/"$/, '-zip"'),
    tag.toUpperCase(),
    `"${tag}"`,
    "",
    `"${"x".repeat(5_000)}"`,
  ];
  for (const header of nearMisses) expect((await get({ "if-none-match": header })).status, header).toBe(200);
});

test("HEAD has the ETag of GET and is conditional as well", async () => {
  const tag = await tagOf();
  expect((await get({}, tasks, "HEAD")).headers.get("etag")).toBe(tag);
  expect((await get({ "if-none-match": tag }, tasks, "HEAD")).status).toBe(304);
});

test("writes, errors, streams and HTML pages have no ETag, and If-None-Match does not stop a write", async () => {
  const written = await world.call("POST", tasks, {
    token: home.owner.token,
    body: { title: "Written" },
    headers: { "if-none-match": "*" },
  });
  const missing = await get({ "if-none-match": "*" }, `${tasks}/${crypto.randomUUID()}/comments`);
  const page = await get({ "if-none-match": "*" }, "/docs");
  expect([written.status, missing.status, page.status]).toEqual([200, 404, 200]);
  const stream = await world.app.request(`${tasks}/stream`, { headers: { authorization: `Bearer ${home.owner.token}` } });
  await stream.body!.cancel();
  for (const { headers } of [written, missing, page, stream]) expect(headers.get("etag")).toBe(null);
});

test("a browser client may read the ETag of an answer and send it back", async () => {
  const origin = "https://app.example";
  expect((await get({ origin })).headers.get("access-control-expose-headers")).toContain("ETag");
  const preflight = await world.call("OPTIONS", tasks, {
    headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization,if-none-match" },
  });
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,if-none-match");
});

test("the ETag of a list depends on who reads it: another person's ETag does not match", async () => {
  const stranger = await world.tenant("stranger");
  const mine = (await get({}, "/api/v1/boards")).headers.get("etag")!;
  const theirs = await world.call("GET", "/api/v1/boards", {
    token: stranger.owner.token,
    headers: { "if-none-match": mine },
  });
  expect(theirs.status).toBe(200);
});
