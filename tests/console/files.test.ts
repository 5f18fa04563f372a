import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { MIN_ENCODED_BYTES } from "@board/api/edge/representation";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const PACKAGE = path.resolve(import.meta.dirname, "../../packages/console");
const BUILT = path.join(PACKAGE, "dist");
/** The maximum compressed sizes: of the files that the first view of a board loads, and of those that any other page adds. */
const MAX_FIRST_BYTES = 80 * 1024;
const MAX_PAGE_BYTES = 60 * 1024;

const build = (...folder: string[]) => execFileSync(process.execPath, [path.join(PACKAGE, "build.mjs"), ...folder]);

if (!existsSync(path.join(BUILT, "index.html"))) build();
const world = await setupWorld();

const get = (target: string, headers: Record<string, string> = {}) => world.app.request(target, { headers });
const linksOf = (html: string) => [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1]!);

test("the address of the service opens the console, under a policy that allows nothing from elsewhere", async () => {
  const answer = await get("/");
  expect([answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([
    200,
    "text/html; charset=utf-8",
    "no-cache",
  ]);
  const policy = answer.headers.get("content-security-policy")!;
  expect(policy).not.toContain("unsafe");
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).toContain(`connect-src 'self' ${new URL(world.identities.issuer).origin};`);
  const html = await answer.text();
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=/);
  expect(linksOf(html).length).toBeGreaterThan(1);
});

test("each larger file of the console is served compressed, and browsers may cache all files without asking again", async () => {
  for (const link of linksOf(await (await get("/")).text()).filter((target) => target.startsWith("/assets/"))) {
    const plain = await get(link);
    const [brotli, gzip] = [await get(link, { "accept-encoding": "br" }), await get(link, { "accept-encoding": "gzip" })];
    expect([plain.status, brotli.status, gzip.status]).toEqual([200, 200, 200]);
    expect(brotli.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const text = await plain.text();
    if (text.length < MIN_ENCODED_BYTES) continue;
    expect([brotli.headers.get("content-encoding"), gzip.headers.get("content-encoding")]).toEqual(["br", "gzip"]);
    expect(brotliDecompressSync(await brotli.arrayBuffer()).toString()).toBe(text);
    expect(gunzipSync(await gzip.arrayBuffer()).toString()).toBe(text);
  }
});

test("a path that is neither a file of the console nor a route of the service gives 404", async () => {
  for (const target of [
    "/assets/nothing-12345678.js",
    "/assets/..%2f..%2fpackage.json",
    "/assets/..%2findex.html",
    "/assets/",
    "/console",
    "/boards",
  ])
    expect([target, (await get(target)).status]).toEqual([target, 404]);
  expect((await world.app.request("/", { method: "DELETE" })).status).toBe(405);
});

test("a device finds the manifest and icons that it needs to install the console", async () => {
  const page = await get("/");
  expect(await page.text()).toContain('<link rel="manifest" href="/manifest.webmanifest" />');
  expect(page.headers.get("content-security-policy")).toContain("manifest-src 'self'");
  const answer = await get("/manifest.webmanifest");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/manifest+json"]);
  const manifest = (await answer.json()) as { icons: { src: string; sizes: string; purpose: string }[] };
  expect(manifest).toMatchObject({ id: "/", start_url: "/", scope: "/", display: "standalone" });
  expect(manifest.icons.map(({ sizes, purpose }) => `${purpose} ${sizes}`)).toEqual([
    "any 192x192",
    "any 512x512",
    "maskable 512x512",
  ]);
  for (const { src, sizes } of manifest.icons) {
    const icon = Buffer.from(await (await get(src)).arrayBuffer());
    // A PNG's header contains its width and height.
    expect([src, `${icon.readUInt32BE(16)}x${icon.readUInt32BE(20)}`]).toEqual([src, sizes]);
  }
  expect((await get("/icons/..%2findex.html")).status).toBe(404);
});

test("the service worker is one script that may only call the service, and browsers always check for a newer version", async () => {
  const answer = await get("/service-worker.js");
  expect([answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([
    200,
    "text/javascript; charset=utf-8",
    "no-cache",
  ]);
  expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'; connect-src 'self'");
  const script = await answer.text();
  expect(script).not.toMatch(/\b(?:import|export|importScripts)\b/);
  // The service worker does not intercept requests of the page, so it can neither change nor store a response.
  expect(script).not.toMatch(/addEventListener\(.fetch/);
});

/** Finds each `import()` of a script, with all files that browsers load for it. */
function loadsOf(script: string): { name: string; files: string[] }[] {
  const text = readFileSync(path.join(BUILT, script), "utf8");
  const named = [...(/__vite__mapDeps=.*?\[("[^\]]*)\]/.exec(text)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map((match) => match[1]!);
  return [...text.matchAll(/import\(`\.\/([^`]+)`\).*?(?=import\(`|$)/gs)].map(([call, name]) => {
    const indexes = /__vite__mapDeps\(\[([\d,]*)\]\)/.exec(call)?.[1]?.split(",").filter(Boolean) ?? [];
    return { name: name!, files: [`assets/${name}`, ...indexes.map((index) => named[Number(index)]!)] };
  });
}

/** Returns these files and all files that they may import, directly or indirectly. */
function withInner(files: readonly string[], seen = new Set<string>()): Set<string> {
  for (const file of files.filter((candidate) => !seen.has(candidate))) {
    seen.add(file);
    if (file.endsWith(".js")) for (const inner of loadsOf(file)) withInner(inner.files, seen);
  }
  return seen;
}

const sizeOf = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + readFileSync(path.join(BUILT, `${file}.gz`)).length, 0);

test("the first view of a board stays below 80 KB, and what any other page adds to it below 60 KB", () => {
  const linked = linksOf(readFileSync(path.join(BUILT, "index.html"), "utf8")).map((target) => target.slice(1));
  const first = new Set(linked.filter((file) => /\.(?:js|css)$/.test(file)));
  const loads = [...first].filter((file) => file.endsWith(".js")).flatMap(loadsOf);
  const added = (starts: RegExp) => {
    const files = loads.filter(({ name }) => starts.test(name)).flatMap((load) => load.files);
    expect(files, String(starts)).not.toEqual([]);
    return [...withInner(files, new Set(first))].filter((file) => !first.has(file));
  };
  // The page of a board preloads these two parts, so that they open at once.
  expect(sizeOf([...first, ...added(/^new-task-/), ...added(/^saved-views-/)])).toBeLessThan(MAX_FIRST_BYTES);
  // Many pages show Markdown, so its files count for every page. The story of a task has several parts on one page.
  const markdown = added(/^markdown-text-/);
  const story = added(/^(?:task-budget|files|file-view|values|following|edit)-/);
  const pages = loads.map(({ name, files }) => [name, [...withInner(files, new Set(first))]] as const);
  expect(pages.length).toBeGreaterThan(25);
  for (const [name, files] of [...pages, ["story", story] as const]) {
    const own = new Set([...files, ...markdown].filter((file) => !first.has(file)));
    expect(sizeOf(own), name).toBeLessThan(MAX_PAGE_BYTES);
  }
});

test("building the same sources twice gives the same files", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "console-"));
  const [one, other] = [path.join(folder, "one"), path.join(folder, "other")];
  const contents = (root: string) =>
    Object.fromEntries(
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .map((file) => [path.relative(root, file), readFileSync(file, "base64")]),
    );
  try {
    build(one);
    build(other);
    expect(contents(one)).toEqual(contents(other));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the configuration of the console says how people sign in, and contains no secret", async () => {
  const answer = await get("/console/config.json");
  const issuer = world.identities.issuer;
  const scope = "openid profile email";
  expect(await answer.json()).toEqual({ auth: { mode: "oidc", issuer, client_id: null, scope, audience: "board" } });
  const local = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: "t".repeat(60) } });
  const config = await (await local.app.request("/console/config.json")).text();
  expect(config).toBe('{"auth":{"mode":"local"}}');
  await local.close();
});

test("no picture of the documents is larger than 60 KB", () => {
  const folder = path.resolve(PACKAGE, "../../docs/pictures");
  const sizes = readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name)).length] as const);
  expect(sizes.filter(([, size]) => size > MAX_PAGE_BYTES)).toEqual([]);
  expect(sizes.length).toBeGreaterThan(100);
});
