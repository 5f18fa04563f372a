import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { scheduled } from "@board/api/work/schedules";
import { beforeAll, expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";
import { artifactsOf, base64, sha256 } from "./artifact-fixture.ts";

const HOUR = 3_600_000;
let world: World;
let home: Tenant;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "files-"));
  world = await createWorld({ environment: { WEBHOOK_BODY_STORAGE: folder } });
  home = await world.tenant("home");
  return async () => {
    await world.close();
    rmSync(folder, { recursive: true });
  };
});

const openTask = async () => artifactsOf(world, home, (await addTask(world, home)).id);
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** Returns the file that a descriptor refers to, or an empty text for the descriptor that listed the folder and is now closed. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return "";
  }
}

/** A file of the maximum size. */
const LARGE = randomBytes(26_214_400);

test("a file of 25 MB is uploaded, completed, and read back whole and in parts", async () => {
  const { announce, upload, complete, content } = await openTask();
  const announced = await announce(LARGE, "video.bin");
  const { id } = announced.body;
  expect(announced.body.status).toBe("uploading");
  const url = `/api/v1/boards/${home.board_id}/artifacts/${id}/content`;
  expect(announced.body.upload).toMatchObject({ url, authenticated: true });
  expect(announced.body.upload.headers).toEqual({});
  expect((await content(id)).status).toBe(409);
  expect((await upload(id, LARGE)).status).toBe(200);
  expect((await complete(id)).body).toMatchObject({ status: "ready", content_type: "application/octet-stream" });
  expect(sha256((await content(id)).bytes)).toBe(sha256(LARGE));
  const part = await content(id, { range: "bytes=20000000-20000009" });
  expect([part.status, part.bytes.equals(LARGE.subarray(20_000_000, 20_000_010))]).toEqual([206, true]);
  expect((await complete(id)).body.status).toBe("ready");
  expect((await upload(id, LARGE)).status).toBe(409);
});

test("content that is cut, longer or different is refused and not stored, and may be sent again", async () => {
  const { announce, upload, complete } = await openTask();
  const content = randomBytes(300_000);
  const { id } = (await announce(content)).body;
  const other = Buffer.from(content);
  other[7]! ^= 1;
  for (const wrong of [content.subarray(1), Buffer.concat([content, Buffer.from("x")]), other])
    expect((await upload(id, wrong)).status).toBe(409);
  expect([files().includes(id), (await complete(id)).status]).toEqual([false, 409]);
  await upload(id, content);
  expect((await complete(id)).body.status).toBe("ready");
});

test("an upload whose client disconnects in the middle stores nothing", async () => {
  const { announce, item, complete } = await openTask();
  const content = randomBytes(300_000);
  const { id } = (await announce(content)).body;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(content.subarray(0, 100_000));
    },
    pull(controller) {
      controller.error(new Error("gone"));
    },
  });
  const init = { method: "PUT", headers: { authorization: `Bearer ${home.owner.token}` }, body, duplex: "half" };
  const answer = await world.app.request(`${item(id)}/content`, init as RequestInit);
  expect([answer.status, files().includes(id), (await complete(id)).status]).toEqual([400, false, 409]);
});

test("the partial file of an upload whose process was killed is removed after an hour, and the file of a running upload is kept", async () => {
  mkdirSync(path.join(folder, "parts"), { recursive: true });
  const hourAgo = Date.now() / 1_000 - 3_601;
  for (const name of ["killed", "running"]) writeFileSync(path.join(folder, "parts", name), "half");
  utimesSync(path.join(folder, "parts", "killed"), hourAgo, hourAgo);
  await scheduled.retention(world.context());
  expect(readdirSync(path.join(folder, "parts"))).toEqual(["running"]);
});

test("a file above 64 KB that is sent with its creation is in the storage, and a smaller one in the database", async () => {
  const { add, content } = await openTask();
  const sizes = [65_536, 65_537, 262_144];
  const ids: string[] = [];
  for (const size of sizes) ids.push((await add({ name: "part.bin", content: base64(LARGE.subarray(0, size)) })).body.id);
  expect(ids.map((id) => files().includes(id))).toEqual([false, true, true]);
  for (const [index, id] of ids.entries()) expect((await content(id)).bytes.equals(LARGE.subarray(0, sizes[index]))).toBe(true);
});

test("an upload that is not completed in a day is removed with its content", async () => {
  const { announce, upload, list } = await openTask();
  const content = randomBytes(70_000);
  const { id } = (await announce(content)).body;
  await upload(id, content);
  await scheduled.retention(world.context());
  expect(await list()).toHaveLength(1);
  world.elapse(24 * HOUR + 1_000);
  await scheduled.retention(world.context());
  expect([await list(), files().includes(id)]).toEqual([[], false]);
});

test("HEAD of a file's content answers with its size, and leaves no file open", async () => {
  const { announce, upload, complete, item } = await openTask();
  const { id } = (await announce(LARGE.subarray(0, 300_000))).body;
  await upload(id, LARGE.subarray(0, 300_000));
  await complete(id);
  const openFiles = () =>
    readdirSync("/proc/self/fd")
      .map(targetOf)
      .filter((target) => target.includes(id));
  const answer = await world.call("HEAD", `${item(id)}/content`, { token: home.owner.token });
  expect([answer.status, answer.headers.get("content-length"), answer.text]).toEqual([200, "300000", ""]);
  expect(process.platform === "linux" ? openFiles() : []).toEqual([]);
});

test("the content of a removed task's files is deleted", async () => {
  const task = await addTask(world, home);
  const { announce, upload, complete } = artifactsOf(world, home, task.id);
  const content = randomBytes(70_000);
  const { id } = (await announce(content)).body;
  await upload(id, content);
  await complete(id);
  await world.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, { token: home.owner.token });
  world.elapse(2 * HOUR);
  await scheduled.retention(world.context());
  expect(files()).not.toContain(id);
});

test("while the storage fails, uploads and downloads are answered with 503", async () => {
  const broken = await createWorld({ environment: { WEBHOOK_BODY_STORAGE: path.join(folder, "missing", "\uD83D\uDE80") } });
  try {
    const tenant = await broken.tenant("broken");
    const { announce, complete } = artifactsOf(broken, tenant, (await addTask(broken, tenant)).id);
    const { id } = (await announce(randomBytes(10))).body;
    const answer = await complete(id);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
  } finally {
    await broken.close();
  }
});
