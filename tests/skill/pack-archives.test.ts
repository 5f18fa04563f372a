import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { type ArchiveLimits, readArchive } from "@board/core/skill/archive";
import { discoverSkills, PACK_LIMITS } from "@board/core/skill/discover";
import { locatePublicHost } from "@board/core/http/https-client";
import { FetchError } from "@board/core/context/http-client";
import { packTar, type TarEntry } from "modern-tar";
import { beforeEach, expect, test, vi } from "vitest";
import { archivePath, fileEntry, buildArchive, respondWith, skillFile } from "../support/code-host.ts";
import { setupPacks } from "./pack-fixture.ts";

const MIB = 1024 * 1024;
let repository: string;
let id: string;

const { host, packs, openPack } = await setupPacks();
beforeEach(async () => {
  ({ repository, id } = await openPack());
});

const tar = async (...entries: TarEntry[]) => gzipSync(await packTar(entries));
const send = (body: Uint8Array, headers: Record<string, string> = {}) =>
  host.answers.set(archivePath(repository), respondWith(body, 200, headers));
async function sync() {
  const { status, body } = await packs.sync(id);
  return status === 200 ? [status, body.synced, body.warnings] : [status, body.detail];
}
const link = (type: "symlink" | "link", name: string, linkname: string): TarEntry => ({
  header: { name, size: 0, type, linkname },
});
const device = (type: "character-device" | "block-device" | "fifo", name: string): TarEntry => ({
  header: { name, size: 0, type },
});

test("links, devices and paths outside the tree are ignored, and the other entries are read", async () => {
  send(
    await tar(
      fileEntry("repo-main/good/SKILL.md", skillFile("good")),
      link("symlink", "repo-main/symlink/SKILL.md", "/etc/passwd"),
      link("symlink", "repo-main/skills_index.json", "good/SKILL.md"),
      link("link", "repo-main/hard/SKILL.md", "repo-main/good/SKILL.md"),
      device("character-device", "repo-main/char/SKILL.md"),
      device("block-device", "repo-main/block/SKILL.md"),
      device("fifo", "repo-main/fifo/SKILL.md"),
      fileEntry("../outside/SKILL.md", skillFile("outside")),
      fileEntry("repo-main/../../outside/SKILL.md", skillFile("outside")),
      fileEntry("repo-main/a/../SKILL.md", skillFile("outside")),
      fileEntry("/etc/x/SKILL.md", skillFile("absolute")),
      fileEntry("SKILL.md", skillFile("above the tree")),
      fileEntry(`repo-main/${"long/".repeat(60)}SKILL.md`, skillFile("long")),
      fileEntry("./repo-main//dotted/./SKILL.md", skillFile("dotted")),
    ),
  );
  expect(await sync()).toEqual([200, 3, []]);
  expect(new Set((await packs.skills(id)).map(({ name }) => name))).toEqual(new Set(["dotted", "good", "long"]));
});

test("a path that occurs twice is one skill with the content of the last file", async () => {
  send(await tar(fileEntry("r/a/SKILL.md", skillFile("first")), fileEntry("r/a/SKILL.md", skillFile("last"))));
  expect(await sync()).toEqual([200, 1, []]);
  expect(await packs.skills(id)).toMatchObject([{ name: "last" }]);
});

test("a path too long for an address is skipped with a warning", async () => {
  send(await tar(fileEntry(`r/${"x".repeat(2_000)}/SKILL.md`, skillFile("long")), fileEntry("r/a/SKILL.md", skillFile("a"))));
  expect(await sync()).toEqual([200, 1, [expect.stringContaining("too long")]]);
});

const broken = [502, expect.stringMatching(/damaged/)];
const archive = buildArchive({ "a/SKILL.md": skillFile("a"), "b.bin": "x".repeat(20_000) });

test.each([
  ["empty", async () => Buffer.alloc(0)],
  ["not gzip", async () => Buffer.from("<html>Not an archive</html>")],
  ["gzip of something else", async () => gzipSync("Not a tar, but long enough for a header.".repeat(100))],
  ["gzip that is cut short", async () => (await archive).subarray(0, -20)],
  ["a tar that is cut short", async () => gzipSync(gunzipSync(await archive).subarray(0, 2_000))],
  ["damaged gzip", async () => Buffer.from(await archive).fill(7, 40, 80)],
])("an archive that is %s stores nothing", async (_what, body) => {
  send(await body());
  expect(await sync()).toEqual(broken);
  expect(await packs.skills(id)).toEqual([]);
});

test("an archive whose announced length exceeds the limit is not read", async () => {
  send(await archive, { "content-length": String(51 * MIB) });
  expect(await sync()).toEqual([422, expect.stringContaining("52428800 bytes")]);
});

test.each([
  ["more", 10, 502],
  ["less", -10, 502],
])("an archive whose announced length is %s than what is sent stores nothing", async (_what, difference, status) => {
  const body = await archive;
  host.answers.set(archivePath(repository), (_request, response) => {
    const { socket } = response;
    socket!.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length + difference}\r\n\r\n`), body]));
  });
  expect((await sync())[0]).toBe(status);
  expect(await packs.skills(id)).toEqual([]);
});

test("reading an endless body stops at the size limit", async () => {
  let sent = 0;
  const ended = Promise.withResolvers<void>();
  const [head, noise] = [
    gzipSync(await headerOf({ name: "r/other", size: 0 }, 4_000 * MIB)),
    gzipSync(Buffer.alloc(MIB), { level: 0 }),
  ];
  host.answers.set(archivePath(repository), (_request, response) => {
    response.on("close", () => ended.resolve());
    response.write(head);
    const more = (): void => {
      while (!response.destroyed && response.write(noise)) sent += 1;
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  await expect(discoverSkills(host.web, placeOf(), { ...PACK_LIMITS, max_bytes: 4 * MIB })).rejects.toThrow(/4194304 bytes/);
  await ended.promise;
  expect(sent).toBeLessThan(100);
});

const placeOf = () => ({ source_url: `https://github.com/${repository}`, branch: "main" });

test("reading a very slow body stops at the time limit", async () => {
  const closed = Promise.withResolvers<void>();
  const body = await archive;
  host.answers.set(archivePath(repository), (_request, response) => {
    response.on("close", () => closed.resolve());
    void trickle(response, body);
  });
  await expect(discoverSkills(host.web, placeOf(), { ...PACK_LIMITS, total_ms: 300 })).rejects.toMatchObject({
    problem: "timeout",
  });
  await closed.promise;
});

async function trickle(response: ServerResponse, body: Buffer): Promise<void> {
  for (const byte of body) {
    if (response.destroyed) return;
    response.write(Buffer.of(byte));
    await pause(20);
  }
}

/** Provides the parts of an archive as they are read, and counts them. */
function counted(part: (index: number) => Uint8Array) {
  const source = {
    taken: 0,
    left: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) yield part(source.taken++);
      } finally {
        source.left = true;
      }
    },
  };
  return source;
}

const LIMITS: ArchiveLimits = { unpacked_bytes: 50 * MIB, files: 5_000, deadline: Number.POSITIVE_INFINITY };
const limits = (more: Partial<ArchiveLimits> = {}): ArchiveLimits => ({ ...LIMITS, ...more });

async function readAll(source: AsyncIterable<Uint8Array>, more: Partial<ArchiveLimits> = {}) {
  const files: { path: string; size: number; is_cut: boolean }[] = [];
  for await (const { path, content, is_cut } of readArchive(source, limits(more), (path) =>
    path.endsWith("kept") ? 1_000 : null,
  ))
    files.push({ path, size: content.length, is_cut });
  return files;
}

/** Returns the header of an entry of this size, without its content. */
const headerOf = async (header: TarEntry["header"], size: number) => {
  const whole = Buffer.from(await packTar([{ header: { ...header, size: 0 } }])).subarray(0, 512);
  whole.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  whole.fill(" ", 148, 156);
  whole.write(
    `${whole
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
  return whole;
};

test("an archive bomb is not unpacked beyond the limit, whether its file is wanted or not", async () => {
  const zeros = gzipSync(Buffer.alloc(10 * MIB));
  for (const name of ["r/kept", "r/other"]) {
    const head = gzipSync(await headerOf({ name, size: 0 }, 4_000 * MIB));
    const source = counted((index) => (index === 0 ? head : zeros));
    await expect(readAll(source)).rejects.toMatchObject({ kind: "invalid", message: expect.stringContaining("52428800 bytes") });
    expect(source.taken * 10).toBeLessThan(120);
    await vi.waitUntil(() => source.left, { timeout: 30_000 });
  }
});

test("only the requested number of bytes of a wanted file is kept, however large the file is", async () => {
  const [head, content] = [await headerOf({ name: "r/kept", size: 0 }, 20 * MIB), Buffer.alloc(20 * MIB)];
  const rest = await packTar([fileEntry("r/also-kept", "x"), fileEntry("r/exactly-kept", "y".repeat(1_000))]);
  const whole = [gzipSync(Buffer.concat([head, content, rest]))];
  expect(
    await readAll(
      (async function* () {
        yield* whole;
      })(),
    ),
  ).toEqual([
    { path: "kept", size: 1_000, is_cut: true },
    { path: "also-kept", size: 1, is_cut: false },
    { path: "exactly-kept", size: 1_000, is_cut: false },
  ]);
});

test("reading stops at file number 5,001, even if it is a link", async () => {
  for (const type of ["file", "symlink"] as const) {
    const one = await headerOf({ name: "r/x", size: 0, type, linkname: "y" }, 0);
    const hundred = gzipSync(Buffer.concat(Array.from({ length: 100 }, () => one)));
    const source = counted(() => hundred);
    await expect(readAll(source)).rejects.toMatchObject({ kind: "invalid", message: expect.stringContaining("5000 files") });
    expect(source.taken).toBeLessThan(500);
    await vi.waitUntil(() => source.left, { timeout: 30_000 });
  }
});

test("an archive of five thousand files is read", async () => {
  const entries = Array.from({ length: 5_000 }, (_, n) => fileEntry(`r/${n}/${n === 4_999 ? "kept" : "x"}`, ""));
  const whole = gzipSync(await packTar(entries));
  expect(
    await readAll(
      (async function* () {
        yield whole;
      })(),
    ),
  ).toMatchObject([{ path: "4999/kept" }]);
});

test("an endless number of folders is stopped by the byte limit", async () => {
  const one = await headerOf({ name: "r/folder/", size: 0, type: "directory" }, 0);
  const thousand = gzipSync(Buffer.concat(Array.from({ length: 1_000 }, () => one)));
  const source = counted(() => thousand);
  await expect(readAll(source, { unpacked_bytes: 5 * MIB })).rejects.toMatchObject({ message: expect.stringContaining("bytes") });
  expect(source.taken).toBeLessThan(40);
});

test("very long names are not parsed", async () => {
  const head = await headerOf({ name: "pax", size: 0, type: "pax-header" }, 6 * MIB);
  const records = gzipSync(Buffer.alloc(MIB, "8 abc=d\n"), { level: 0 });
  const source = counted((index) => (index === 0 ? gzipSync(head) : records));
  await expect(readAll(source)).rejects.toMatchObject({ kind: "invalid", message: expect.stringContaining("names") });
  expect(source.taken).toBeLessThan(6);
});

test("the error of a failing source is passed on unchanged, and an expired time limit ends the reading", async () => {
  const failing = (async function* (): AsyncGenerator<Uint8Array> {
    yield gzipSync(await headerOf({ name: "r/kept", size: 0 }, MIB));
    throw new FetchError("unreachable", "gone");
  })();
  await expect(readAll(failing)).rejects.toMatchObject({ problem: "unreachable", message: "gone" });
  await expect(
    readAll(
      (async function* () {
        yield await archive;
      })(),
      { deadline: -1 },
    ),
  ).rejects.toMatchObject({ problem: "timeout" });
});

test.each(["10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "::1", "fd00::1", "::ffff:127.0.0.1"])(
  "a code host at the private address %s is not called",
  async (address) => {
    const web = host.webWith(locatePublicHost(async () => [{ address, family: address.includes(":") ? 6 : 4 }]));
    host.requests.length = 0;
    await expect(discoverSkills(web, placeOf())).rejects.toMatchObject({ problem: "refused_address" });
    expect(host.requests).toEqual([]);
  },
);
