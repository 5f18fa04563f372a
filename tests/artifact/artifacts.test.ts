import { artifact_usage, artifacts } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import type { CallOptions } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import { createWorld } from "../support/world.ts";
import { artifactsOf, base64, sha256 } from "./artifact-fixture.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const { token } = home.owner;
const openTask = async () => artifactsOf(world, home, (await addTask(world, home)).id);
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

const usedBytes = async () => {
  const [usage] = await world.db.select().from(artifact_usage).where(eq(artifact_usage.organization_id, home.organization_id));
  return usage?.bytes ?? 0;
};

test("a small file that is sent together with its creation is listed, read and downloaded", async () => {
  const { add, item, list, content } = await openTask();
  const added = await add({ name: "fix.diff", content_type: "text/x-diff", content: base64("+a\n") });
  expect(added.body).toMatchObject({
    name: "fix.diff",
    content_type: "text/x-diff",
    size: 3,
    sha256: sha256("+a\n"),
    status: "ready",
    agent_id: null,
    upload: null,
  });
  const { upload: _upload, ...artifact } = added.body;
  expect((await world.call("GET", item(artifact.id), { token })).body).toEqual(artifact);
  expect(await list()).toEqual([artifact]);
  expect((await content(artifact.id)).bytes.toString()).toBe("+a\n");
});

test("an agent adds a file to a task of its board, and the activity names it", async () => {
  const { add, ofTask } = await openTask();
  const added = await add({ name: "run.log", content: base64("Done") }, { agent: home.worker.token });
  expect(added.body).toMatchObject({ agent_id: home.worker.id, user_id: null, content_type: "text/plain" });
  const { items } = (await world.call("GET", `/api/v1/activity?limit=5`, { token })).body;
  expect(items).toContainEqual(expect.objectContaining({ event_type: "artifact.added", message: "File added: run.log." }));
  expect((await world.call("GET", ofTask, { agent: home.lead.token })).body.total).toBe(1);
});

test("an agent may not remove a file that it did not add, but a person may", async () => {
  const { add, item, list } = await openTask();
  const { id } = (await add({ name: "a.txt", content: base64("a") })).body;
  expect((await world.call("DELETE", item(id), { agent: home.worker.token })).status).toBe(403);
  expect((await world.call("DELETE", item(id), { token })).status).toBe(200);
  expect([await list(), (await world.call("GET", item(id), { token })).status]).toEqual([[], 404]);
});

test.each([
  ["page.html", "text/html", "<script>alert(1)</script>", "text/plain"],
  ["picture.svg", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "text/plain"],
  ["code.js", "text/javascript", "alert(1)", "text/plain"],
  ["feed.xml", "application/xhtml+xml", "<html/>", "text/plain"],
  ["picture.png", "text/html", PNG, "image/png"],
  ["notes.md", "text/markdown; charset=utf-8", "# Notes", "text/markdown"],
  ["program.exe", "image/png", Buffer.from([0x4d, 0x5a, 0, 1]), "application/octet-stream"],
])(
  "a %s file that is declared as %s gets the type of its content, and is always sent as a download",
  async (name, declared, content, type) => {
    const { add, content: read } = await openTask();
    const { id, content_type } = (await add({ name, content_type: declared, content: base64(content) })).body;
    expect(content_type).toBe(type);
    const { headers } = await read(id);
    expect(headers.get("content-type")!.split(";")[0]).toBe(type);
    expect(headers.get("content-disposition")).toBe(`attachment; filename="${name}"; filename*=UTF-8''${name}`);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  },
);

test.each([
  ["bytes=0-3", 206, "bytes 0-3/10", "0123"],
  ["bytes=7-", 206, "bytes 7-9/10", "789"],
  ["bytes=-2", 206, "bytes 8-9/10", "89"],
  ["bytes=5-50", 206, "bytes 5-9/10", "56789"],
  ["bytes=10-", 416, "bytes */10", ""],
  ["bytes=3-1", 200, null, "0123456789"],
  ["lines=1-2", 200, null, "0123456789"],
])("the range %s of a file is answered with %i", async (range, status, shown, text) => {
  const { add, content } = await openTask();
  const { id } = (await add({ name: "digits.txt", content: base64("0123456789") })).body;
  const answer = await content(id, { range });
  expect([answer.status, answer.headers.get("content-range"), answer.bytes.toString()]).toEqual([status, shown, text]);
});

test.each(["bytes=0-", "bytes=-5"])("the range %s of an empty file is answered with 416", async (range) => {
  const { add, content } = await openTask();
  const { id } = (await add({ name: "empty.txt", content: "" })).body;
  const answer = await content(id, { range });
  expect([answer.status, answer.headers.get("content-range")]).toEqual([416, "bytes */0"]);
});

test("a file that the client already has is not downloaded again", async () => {
  const { add, content } = await openTask();
  const { id } = (await add({ name: "a.txt", content: base64("a") })).body;
  const tag = (await content(id)).headers.get("etag")!;
  expect((await content(id, { "if-none-match": tag })).status).toBe(304);
});

test("a file is downloaded if the client has another file or version", async () => {
  const { add, content } = await openTask();
  const { id } = (await add({ name: "a.txt", content: base64("a") })).body;
  for (const tag of ['"other"', `"${sha256("b")}"`]) expect((await content(id, { "if-none-match": tag })).status).toBe(200);
});

test.each([
  { name: "../a.txt", content: "" },
  { name: "a\u202Etxt.exe", content: "" },
  { name: "..", content: "" },
  { name: "a.txt", content: "%%%%" },
  { name: "a.txt", content: "YQ==", size: 2 },
  { name: "a.txt", content_type: "text/html\r\nset-cookie: a=b", content: "" },
  { name: "a.txt" },
  { name: "a.txt", size: -1, sha256: "0".repeat(64) },
])("a file such as %j is refused", async (body) => {
  const { add } = await openTask();
  expect((await add(body)).status).toBe(422);
});

test("content that is sent along has at most 262,144 bytes", async () => {
  const { add } = await openTask();
  const send = (size: number) => add({ name: "a.bin", content: Buffer.alloc(size).toString("base64") });
  expect([(await send(262_144)).status, (await send(262_145)).status, (await send(262_146)).status]).toEqual([200, 422, 422]);
});

test("a file that names a run of another task is refused", async () => {
  const { add } = await openTask();
  const other = await addTask(world, home, { status: "in_progress", assigned_agent_id: home.worker.id });
  expect((await add({ name: "a.txt", content: "", run_id: other.run_id })).status).toBe(422);
  expect((await add({ name: "a.txt", content: "", run_id: crypto.randomUUID() })).status).toBe(404);
});

test("a file that is too large is refused with the limit", async () => {
  const { announce } = await openTask();
  const refused = await announce(Buffer.alloc(1), "big.bin", { size: 26_214_401 });
  expect([refused.status, refused.body.detail]).toMatchObject([413, { size: 26_214_401, limit: 26_214_400 }]);
});

test("without a storage for files, a file above 256 KB is refused before it is uploaded", async () => {
  const { announce } = await openTask();
  expect((await announce(Buffer.alloc(262_145))).status).toBe(409);
});

test("a task has at most 200 files", async () => {
  const { id: task_id } = await addTask(world, home);
  const { organization_id, board_id } = home;
  const file = {
    organization_id,
    board_id,
    task_id,
    content_type: "text/plain",
    size: 0,
    sha256: sha256(""),
    status: "ready" as const,
  };
  await world.db.insert(artifacts).values(Array.from({ length: 199 }, (_, index) => ({ ...file, name: `${index}.txt` })));
  const { add } = artifactsOf(world, home, task_id);
  expect((await add({ name: "last.txt", content: "" })).status).toBe(200);
  const refused = await add({ name: "more.txt", content: "" });
  expect([refused.status, refused.body.detail]).toMatchObject([409, { used: 200, limit: 200 }]);
});

test("the bytes of files count for the organization until the files or their task are removed", async () => {
  const before = await usedBytes();
  const { add, item } = await openTask();
  const { id } = (await add({ name: "a.txt", content: base64("12345") })).body;
  const task = await addTask(world, home);
  await artifactsOf(world, home, task.id).add({ name: "b.txt", content: base64("123") });
  expect(await usedBytes()).toBe(before + 8);
  await world.call("DELETE", item(id), { token });
  await world.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, { token });
  expect(await usedBytes()).toBe(before);
});

test("an organization stores no more bytes than its limit", async () => {
  const small = await createWorld({ limits: { organization_artifact_bytes: 10 } });
  try {
    const tenant = await small.tenant("small");
    const { add } = artifactsOf(small, tenant, (await addTask(small, tenant)).id);
    expect((await add({ name: "a.txt", content: base64("123456") })).status).toBe(200);
    const refused = await add({ name: "b.txt", content: base64("12345") });
    expect([refused.status, refused.body.detail]).toMatchObject([409, { used: 6, limit: 10 }]);
    expect((await add({ name: "c.txt", content: base64("1234") })).status).toBe(200);
  } finally {
    await small.close();
  }
});

test("members find the largest files of their boards, and how much all files of the organization take", async () => {
  const tenant = await world.tenant("large");
  const task = await addTask(world, tenant, { title: "Keep the log" });
  const { add } = artifactsOf(world, tenant, task.id);
  for (const [name, content] of Object.entries({ "some.txt": "12", "most.txt": "123", "few.txt": "1" }))
    await add({ name, content: base64(content) });
  const read = async (url: string, who: CallOptions) => (await world.call("GET", url, who)).body;
  const owner = { token: tenant.owner.token };
  const { items } = await read("/api/v1/artifacts", owner);
  expect(items.map(({ name, size, task_title }: Record<string, unknown>) => [name, size, task_title])).toEqual([
    ["most.txt", 3, "Keep the log"],
    ["some.txt", 2, "Keep the log"],
    ["few.txt", 1, "Keep the log"],
  ]);
  const usage = { used: 6, limit: 5_368_709_120 };
  expect(await read("/api/v1/artifacts/usage", owner)).toEqual(usage);
  const onlooker = await world.member("onlooker", tenant);
  expect((await read("/api/v1/artifacts", { token: onlooker.token })).items).toEqual([]);
  expect(await read("/api/v1/artifacts/usage", { token: onlooker.token })).toEqual(usage);
});

test("mirrors see a new file and its removal in the changes feed", async () => {
  const { add, item } = await openTask();
  const { cursor } = (await world.call("GET", "/api/v1/changes", { token })).body;
  const { id } = (await add({ name: "a.txt", content: "" })).body;
  await world.call("DELETE", item(id), { token });
  const { changes } = (await world.call("GET", `/api/v1/changes?types=artifact&cursor=${cursor}`, { token })).body;
  expect(changes).toMatchObject([
    { type: "artifact", action: "created", id, actor: { type: "user" } },
    { type: "artifact", action: "removed", id, actor: { type: "user" } },
  ]);
});

test("each person has a separate list of the reviewed files of a diff", async () => {
  const { add, item } = await openTask();
  const { id } = (await add({ name: "fix.diff", content_type: "text/x-diff", content: base64("+a\n") })).body;
  const url = `${item(id)}/reviewed-files`;
  expect((await world.call("GET", url, { token })).body).toEqual({ artifact_id: id, paths: [], updated_at: null });
  const set = await world.call("PUT", url, { token, body: { paths: ["a.ts", "b.ts", "a.ts"] } });
  expect(set.body.paths).toEqual(["a.ts", "b.ts"]);
  expect((await world.call("GET", url, { token })).body).toEqual(set.body);
  const reader = await world.member("reader", home, "member", { read: true });
  expect((await world.call("PUT", url, { token: reader.token, body: { paths: [] } })).status).toBe(200);
  expect((await world.call("GET", url, { token: reader.token })).body.paths).toEqual([]);
  expect((await world.call("GET", url, { token })).body.paths).toEqual(["a.ts", "b.ts"]);
  expect((await world.call("PUT", url, { token, body: { paths: ["x".repeat(501)] } })).status).toBe(422);
});
