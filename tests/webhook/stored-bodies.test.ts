import { stat, truncate, unlink } from "node:fs/promises";
import path from "node:path";
import { webhook_payload_usage } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { describe, expect, test } from "vitest";
import { BodyStorageError } from "@board/core/context/body-storage";
import { openPullBoard } from "../support/pull-board.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";
import { setupStoredBodies, toolsOf } from "./body-fixture.ts";

const UNAVAILABLE = { detail: "The payload cannot be read from its storage. Try again later." };
const BODIES = [
  '{"n":12345678901234567890,"text":"\\u0061 needle"}',
  " \n[1e400]\t",
  '"a JSON text"',
  "plain haystack text",
  Buffer.from([0x66, 0xff, 0x00, 0xe4, 0x22]),
  JSON.stringify({ text: "ä".repeat(60_000) }),
  "",
];

const { fixture, home, webhook } = await setupStoredBodies();

const get = (target: string) => fixture.world.call("GET", target, { token: home.owner.token });
const pathOf = (id: string) => `${webhook.endpoint_path}/payloads/${id}`;
const fail = () => {
  throw new BodyStorageError("The storage is down");
};
const breakStorage = () => {
  fixture.intercept.before = fail;
};
const repairStorage = () => {
  fixture.intercept.before = () => {};
  fixture.intercept.after = () => {};
};
/** Returns the log lines of an event since the last call. */
const takeEvents = (event: string) => fixture.world.log.splice(0).filter((line) => line.event === event);
/** Runs the schedule with other settings. */
const runWith = (changed: { days?: number; min_bytes?: number }) => {
  const { settings } = fixture.world;
  const body_storage = { ...settings.body_storage!, ...changed };
  return scheduled.bodies({ ...fixture.world.context(), settings: { ...settings, body_storage } });
};

test("every answer about a payload has the same bytes before and after its body has moved", async () => {
  const ids: string[] = [];
  for (const body of BODIES) ids.push(await fixture.addOld(webhook, body));
  const readAll = async () => {
    const texts: string[] = [];
    for (const id of ids) {
      texts.push((await get(pathOf(id))).text);
      for (const query of ["", "?max_chars=5", "?max_chars=50000"]) {
        const agentPath = pathOf(id).replace("/api/v1/", "/api/v1/agent/");
        texts.push((await fixture.world.call("GET", agentPath + query, { agent: home.worker.token })).text);
      }
    }
    for (const query of ["", "?limit=200", "?limit=1&offset=1", "?cursor=&limit=2", "?q=needle", "?q=haystack", "?q=absent"])
      texts.push((await get(`${webhook.endpoint_path}/payloads${query}`)).text);
    return texts;
  };
  const before = await readAll();
  await fixture.run();
  for (const id of ids) expect((await fixture.bodyOf(id)).body).toBeNull();
  expect(await fixture.keysOf(home)).toHaveLength(ids.length);
  expect(await readAll()).toEqual(before);
  expect(await fixture.countOrphans(home)).toBe(0);
});

test("an object's name consists of the ids of organization and payload, and only the user of the service's process can read it", async () => {
  const id = await fixture.addOld(webhook, "a/../../b");
  await fixture.run();
  const key = `${home.organization_id}/${id.slice(0, 2)}/${id}`;
  expect(await fixture.keysOf(home)).toEqual([key]);
  expect((await stat(path.join(fixture.folder, key))).mode & 0o777).toBe(0o600);
});

test("without a body storage no body moves", async () => {
  const world = await createWorld();
  try {
    const { addOld, run, bodyOf } = toolsOf(world);
    const id = await addOld(await createWebhook(world, await world.tenant("home")), "{}", 80);
    await run();
    expect(await bodyOf(id)).toMatchObject({ body: expect.anything(), body_key: null });
  } finally {
    await world.close();
  }
});

test("bodies younger than WEBHOOK_BODY_DAYS or too small to be worth moving stay in the database", async () => {
  const moved = await fixture.addOld(webhook, "x".repeat(100), 10.1);
  const small = await fixture.addOld(webhook, "x".repeat(99), 10.1);
  const young = await fixture.addOld(webhook, "x".repeat(100), 9.9);
  await runWith({ days: 10, min_bytes: 100 });
  expect((await fixture.bodyOf(moved)).body).toBeNull();
  for (const id of [small, young]) expect((await fixture.bodyOf(id)).body).not.toBeNull();
});

test("the first body of an organization moves in the next run, even though the clock moves on during the run", async () => {
  const id = await fixture.addOld(webhook, "first");
  const { now, ...ctx } = fixture.world.context();
  let ticks = 0;
  await scheduled.bodies({ ...ctx, now: () => new Date(now().getTime() + 5 * ticks++) });
  expect((await fixture.bodyOf(id)).body).toBeNull();
});

test("with WEBHOOK_BODY_DAYS=0 no more bodies move, and bodies that have moved stay readable", async () => {
  const moved = await fixture.addOld(webhook, "moved");
  await fixture.run();
  const stays = await fixture.addOld(webhook, "stays");
  await runWith({ days: 0 });
  expect((await fixture.bodyOf(stays)).body).not.toBeNull();
  expect((await get(pathOf(moved))).body.payload).toBe("moved");
});

test("a moved body still counts for its organization, until its payload is removed", async () => {
  const bytes = async () =>
    (await fixture.world.db.select().from(webhook_payload_usage))
      .filter(({ organization_id }) => organization_id === home.organization_id)
      .reduce((sum, usage) => sum + usage.bytes, 0);
  await fixture.addOld(webhook, "x".repeat(5_000));
  const before = await bytes();
  await fixture.run();
  expect(await bytes()).toBe(before);
  await fixture.world.call("DELETE", webhook.endpoint_path, { token: home.owner.token });
  expect(await bytes()).toBe(0);
});

test("an organization with many old bodies does not delay the bodies of another organization", async () => {
  const tenant = await fixture.world.tenant("busy");
  const busy = await createWebhook(fixture.world, tenant);
  await fixture.addCopies(await fixture.addOld(busy, "busy", 60), 119);
  const id = await fixture.addOld(webhook, "patient");
  let left = 20;
  fixture.intercept.before = (call) => {
    if (call === "put" && left-- <= 0) fail();
  };
  await fixture.run();
  expect((await fixture.bodyOf(id)).body).toBeNull();
  expect((await fixture.keysOf(tenant)).length).toBeLessThan(30);
  repairStorage();
  await fixture.run();
  expect(await fixture.keysOf(tenant)).toHaveLength(120);
});

test("a redelivered payload reaches its agent whole although its body has moved, once the storage is back", async () => {
  const board = await openPullBoard(fixture.world, "puller");
  const created = await board.call("POST", `/api/v1/boards/${board.board_id}/webhooks`, board.owner.token, {
    description: "Do it",
  });
  const id = await fixture.addOld(created.body, "an old event");
  await fixture.run();
  await board.call("POST", `${created.body.endpoint_path}/payloads/${id}/redeliver`, board.owner.token);
  const messages = async () => {
    const inbox = (await board.inbox(board.lead)).body as { messages: { text: string }[] };
    return inbox.messages.filter(({ text }) => text.includes("an old event"));
  };
  const before = (await messages()).length;
  breakStorage();
  await fixture.world.drain();
  expect(await messages()).toHaveLength(before);
  repairStorage();
  fixture.world.elapse(3_600_000);
  await fixture.world.drain();
  expect(await messages()).toHaveLength(before + 1);
});

describe("a storage that fails", () => {
  test("while the storage fails, every read that needs it, and no other, gets 503 with Retry-After", async () => {
    const moved = await fixture.addOld(webhook, "moved");
    await fixture.run();
    const young = await postPayload(fixture.world, webhook, "young");
    breakStorage();
    const agentPath = pathOf(moved).replace("/api/v1/", "/api/v1/agent/");
    for (const answer of [
      await get(pathOf(moved)),
      await get(`${webhook.endpoint_path}/payloads`),
      await fixture.world.call("GET", agentPath, { agent: home.worker.token }),
    ]) {
      expect([answer.status, answer.body]).toEqual([503, UNAVAILABLE]);
      expect(answer.headers.get("retry-after")).toBe("30");
    }
    expect((await get(pathOf(young))).status).toBe(200);
    expect((await get(`${webhook.endpoint_path}/payloads?limit=1`)).status).toBe(200);
    expect(takeEvents("unhandled")).toEqual([]);
    repairStorage();
    expect((await get(pathOf(moved))).body.payload).toBe("moved");
  });

  test("a failing storage stops the moves without losing a body, and the next run continues", async () => {
    const ids = [await fixture.addOld(webhook, "one"), await fixture.addOld(webhook, "two")];
    breakStorage();
    takeEvents("");
    await fixture.run();
    for (const id of ids) expect((await get(pathOf(id))).status).toBe(200);
    expect(takeEvents("webhook.bodies_not_moved")).toMatchObject([{ level: "warn", message: "The storage is down" }]);
    repairStorage();
    await fixture.run();
    for (const id of ids) expect((await fixture.bodyOf(id)).body).toBeNull();
    expect((await get(pathOf(ids[1]!))).body.payload).toBe("two");
  });

  test("no body is lost when the storage stores different bytes than it was given", async () => {
    const id = await fixture.addOld(webhook, "precious");
    takeEvents("");
    fixture.intercept.after = (call, key) => (call === "put" ? truncate(path.join(fixture.folder, key), 3) : undefined);
    await fixture.run();
    expect((await get(pathOf(id))).body.payload).toBe("precious");
    expect(takeEvents("webhook.bodies_not_moved")).toHaveLength(1);
  });

  test("objects of removed payloads are kept until a failing storage works again", async () => {
    await fixture.addOld(webhook, "one");
    await fixture.run();
    await fixture.world.call("DELETE", webhook.endpoint_path, { token: home.owner.token });
    breakStorage();
    await fixture.run();
    expect(await fixture.keysOf(home)).toHaveLength(1);
    repairStorage();
    fixture.world.elapse(3_700_000);
    await fixture.run();
    expect([await fixture.keysOf(home), await fixture.countOrphans(home)]).toEqual([[], 0]);
  });
});

test.each([
  ["missing", (file: string) => unlink(file)],
  ["cut", (file: string) => truncate(file, 2)],
])("reading a payload whose object is %s gives 503 and logs an error, and lists show an empty preview", async (_what, damage) => {
  const id = await fixture.addOld(webhook, "lost body");
  const other = await fixture.addOld(webhook, "other body");
  await fixture.run();
  await damage(path.join(fixture.folder, (await fixture.bodyOf(id)).body_key!));
  takeEvents("");
  const single = await get(pathOf(id));
  expect([single.status, single.body]).toEqual([503, UNAVAILABLE]);
  expect(takeEvents("webhook.body_lost")).toMatchObject([{ level: "error", payload_id: id }]);
  const { items } = (await get(`${webhook.endpoint_path}/payloads`)).body;
  expect(items.find((item: { id: string }) => item.id === id)).toMatchObject({
    payload: "",
    payload_truncated: true,
    payload_path: pathOf(id),
  });
  expect(items.find((item: { id: string }) => item.id === other)).toMatchObject({ payload: "other body" });
});

test("a read of a moved body gets 503, not 500, while no storage is configured", async () => {
  const id = await fixture.addOld(webhook, "moved");
  await fixture.run();
  const without = { ...fixture.world.runtime, createContext: () => ({ ...fixture.world.runtime.createContext(), bodies: null }) };
  const { createApp } = await import("@board/api/app");
  const { endpoints } = await import("@board/api/groups");
  const answer = await createApp(without, endpoints).request(pathOf(id), {
    headers: { authorization: `Bearer ${home.owner.token}` },
  });
  expect(answer.status).toBe(503);
});

test("no line of the log shows a body", async () => {
  const id = await fixture.addOld(webhook, "s3cret-body");
  takeEvents("");
  fixture.intercept.after = (call) => (call === "get" ? fail() : undefined);
  await fixture.run();
  fixture.intercept.after = () => {};
  await fixture.run();
  await get(pathOf(id));
  breakStorage();
  await get(pathOf(id));
  expect(JSON.stringify(fixture.world.log)).not.toContain("s3cret-body");
});
