import { randomBytes } from "node:crypto";
import { scheduled } from "@board/api/work/schedules";
import { toBodyKey } from "@board/core/context/body-storage";
import { beforeAll, expect, test, vi } from "vitest";
import { type FakeBucket, startFakeBucket } from "../support/fake-bucket.ts";
import { addTask } from "../support/task.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";
import { artifactsOf, base64, sha256 } from "./artifact-fixture.ts";

let bucket: FakeBucket;
let world: World;
let home: Tenant;

beforeAll(async () => {
  for (const name of ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "us-east-1");
  bucket = await startFakeBucket();
  world = await createWorld({
    environment: { WEBHOOK_BODY_STORAGE: "s3://bodies/stage", AWS_ENDPOINT_URL_S3: bucket.url },
  });
  home = await world.tenant("home");
  return async () => {
    await world.close();
    await bucket.close();
    vi.unstubAllEnvs();
  };
});

const openTask = async () => artifactsOf(world, home, (await addTask(world, home)).id);
const objectOf = (id: string) => `/bodies/stage/${toBodyKey({ organization_id: home.organization_id, payload_id: id })}`;
const put = (url: string, headers: Record<string, string>, content: Uint8Array) =>
  fetch(url, { method: "PUT", headers, body: content as Uint8Array<ArrayBuffer> });

test("a client uploads 25 MB to the bucket and downloads it from there, without the service in between", async () => {
  const content = randomBytes(26_214_400);
  const { announce, complete, content: read, upload } = await openTask();
  const { id, upload: plan } = (await announce(content, "Grün.bin")).body;
  expect(plan).toMatchObject({
    authenticated: false,
    headers: { "x-amz-checksum-sha256": base64(Buffer.from(sha256(content), "hex")) },
  });
  expect((await upload(id, content)).status).toBe(409);
  expect((await complete(id)).status).toBe(409);
  expect((await put(plan.url, plan.headers, content)).status).toBe(200);
  expect((await complete(id)).body.status).toBe("ready");
  const redirect = await read(id);
  expect([redirect.status, redirect.headers.get("cache-control")]).toEqual([302, "private, no-store"]);
  const stored = await fetch(redirect.headers.get("location")!);
  expect(sha256(Buffer.from(await stored.arrayBuffer()))).toBe(sha256(content));
  expect(stored.headers.get("content-disposition")).toBe(`attachment; filename="Gr_n.bin"; filename*=UTF-8''Gr%C3%BCn.bin`);
});

test("the policy of the console allows connections to the bucket", async () => {
  const policy = (await world.app.request("/")).headers.get("content-security-policy");
  expect(policy).toMatch(new RegExp(`connect-src 'self'[^;]* ${bucket.url};`));
});

test("the bucket refuses any content except the one that was announced", async () => {
  const content = randomBytes(100_000);
  const { announce, complete } = await openTask();
  const { id, upload } = (await announce(content)).body;
  expect((await put(upload.url, upload.headers, randomBytes(100_000))).status).toBe(400);
  expect((await complete(id)).status).toBe(409);
});

test("content that reached the bucket without a check is refused when the upload is completed", async () => {
  const content = randomBytes(100_000);
  const { announce, complete, list } = await openTask();
  const { id } = (await announce(content)).body;
  bucket.objects.set(objectOf(id), randomBytes(100_000));
  expect((await complete(id)).status).toBe(409);
  expect(await list()).toMatchObject([{ status: "uploading" }]);
});

test("a file that the bucket refuses leaves nothing behind, so that repeated requests do not use up the organization's bytes", async () => {
  const { add, list } = await openTask();
  const file = { name: "log.txt", content: base64(randomBytes(70_000)) };
  bucket.state = "refusing";
  const statuses = [(await add(file)).status, (await add(file)).status];
  bucket.state = "up";
  expect([statuses, await list()]).toEqual([[503, 503], []]);
  await add(file);
  expect(await list()).toMatchObject([{ status: "ready" }]);
});

test("the objects of removed files are deleted from the bucket, and a failed deletion is tried again", async () => {
  const { add, item } = await openTask();
  const { id } = (await add({ name: "log.txt", content: base64(randomBytes(70_000)) })).body;
  expect(bucket.objects.has(objectOf(id))).toBe(true);
  await world.call("DELETE", item(id), { token: home.owner.token });
  world.elapse(7_200_000);
  bucket.state = "refusing";
  await scheduled.retention(world.context());
  bucket.state = "up";
  expect(bucket.objects.has(objectOf(id))).toBe(true);
  world.elapse(7_200_000);
  await scheduled.retention(world.context());
  expect(bucket.objects.has(objectOf(id))).toBe(false);
});
