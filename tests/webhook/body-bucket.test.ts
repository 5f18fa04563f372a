import { BodyStorageError, toBodyKey } from "@board/core/context/body-storage";
import type { Webhook } from "@board/core/webhook/webhook";
import { createBodyBucket } from "@board/functions/body-bucket";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { createWebhook } from "../support/webhook.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";
import { toolsOf } from "./body-fixture.ts";
import { type FakeBucket, startFakeBucket } from "../support/fake-bucket.ts";

let bucket: FakeBucket;

for (const name of ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "us-east-1");
afterAll(() => vi.unstubAllEnvs());
beforeEach(async () => {
  bucket = await startFakeBucket();
});
afterEach(() => bucket.close());

const key = toBodyKey({ organization_id: crypto.randomUUID(), payload_id: crypto.randomUUID() });
const open = () => createBodyBucket({ bucket: "bodies", prefix: "stage/", endpoint: bucket.url });
const body = Buffer.from([0, 0xff, 0x0a, 0x0d, 0x22]);

test("an object is stored under the prefix and its key, and all of it or only its beginning can be read", async () => {
  const storage = open();
  await storage.put(key, body);
  expect([...bucket.objects.keys()]).toEqual([`/bodies/stage/${key}`]);
  expect(Buffer.from((await storage.get(key))!)).toEqual(body);
  expect(Buffer.from((await storage.get(key, 2))!)).toEqual(body.subarray(0, 2));
  expect(bucket.calls.at(-1)).toBe(`GET /bodies/stage/${key} bytes=0-1`);
  await storage.put(key, Buffer.from("new"));
  expect(Buffer.from((await storage.get(key))!).toString()).toBe("new");
});

test("an object that does not exist is null, and deleting it is not an error", async () => {
  const storage = open();
  await storage.put(key, body);
  await storage.delete(key);
  await storage.delete(key);
  expect([await storage.get(key), bucket.objects.size]).toEqual([null, 0]);
});

test.each(["refusing", "failing", "silent"] as const)(
  "every call to a bucket that is %s fails with an error that does not name a secret",
  async (state) => {
    bucket.state = state;
    const storage = open();
    const calls = await Promise.allSettled([storage.put(key, body), storage.get(key), storage.delete(key)]);
    for (const call of calls) {
      const { reason } = call as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(BodyStorageError);
      expect(reason.message).toMatch(/^The bucket of bodies (failed: \w+|did not answer in time)$/);
    }
  },
);

test("a bucket that is not reachable fails in seconds", async () => {
  const storage = createBodyBucket({ bucket: "bodies", prefix: "", endpoint: "http://127.0.0.1:1" });
  await expect(storage.get(key)).rejects.toBeInstanceOf(BodyStorageError);
});

test("old bodies move to the bucket of WEBHOOK_BODY_STORAGE, are read from it, and are deleted with their webhook", async () => {
  const world: World = await createWorld({
    environment: { WEBHOOK_BODY_STORAGE: "s3://bodies/stage", AWS_ENDPOINT_URL_S3: bucket.url },
  });
  try {
    const home: Tenant = await world.tenant("home");
    const webhook: Webhook = await createWebhook(world, home);
    const { addOld, run, bodyOf } = toolsOf(world);
    const id = await addOld(webhook, `{"n":12345678901234567890,"text":"${"x".repeat(16_384)}"}`);
    const long = await addOld(webhook, "x".repeat(60_000));
    await run();
    expect((await bodyOf(id)).body).toBeNull();
    const at = (payload: string) => `/bodies/stage/${toBodyKey({ organization_id: home.organization_id, payload_id: payload })}`;
    expect([...bucket.objects.keys()].toSorted()).toEqual([at(id), at(long)].toSorted());
    const read = (target: string) => world.call("GET", target, { token: home.owner.token });
    expect((await read(`${webhook.endpoint_path}/payloads/${id}`)).text).toContain('"payload":{"n":12345678901234567890,');
    bucket.calls.length = 0;
    const { items } = (await read(`${webhook.endpoint_path}/payloads`)).body;
    expect(items[0]).toMatchObject({ id: long, payload: `${"x".repeat(4_000)}...`, payload_truncated: true });
    expect(bucket.calls).toContain(`GET ${at(long)} bytes=0-15999`);
    bucket.state = "refusing";
    expect((await read(`${webhook.endpoint_path}/payloads/${id}`)).status).toBe(503);
    bucket.state = "up";
    await world.call("DELETE", webhook.endpoint_path, { token: home.owner.token });
    await run();
    expect(bucket.objects.size).toBe(0);
  } finally {
    await world.close();
  }
});
