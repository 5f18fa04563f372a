import { board_memory } from "@board/core/schema/all-tables";
import { beforeEach, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { contentsOf, waitForPolls, createMemoryStreamClient, POLL_MS, streamPath } from "./memory-stream-client.ts";
import { listen } from "../support/sse.ts";
import { createWorld } from "../support/world.ts";

let board_id: string;

const world = await setupWorld({ streams: { poll_ms: POLL_MS }, environment: { CORS_ORIGINS: "https://app.example" } });
const home = await world.tenant("home");

let boardNumber = 0;
beforeEach(async () => {
  ({ board_id } = await addBoard(world, home, `Board ${++boardNumber}`));
});

const { follow, resume, write } = createMemoryStreamClient(() => ({ world, home, board_id }));

describe("the wire format", () => {
  test("an event is sent as an id, a name and one line of JSON, and nothing else", async () => {
    const listener = await follow();
    const entry = await write("Two\nlines\r\nand \u2028 more", { tags: ["ops"] });
    await listener.waitForEvents(1);
    const id = listener.lastId()!;
    expect(listener.text).toBe(`id: ${id}\nevent: memory\ndata: ${JSON.stringify({ memory: entry })}\n\n`);
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    await listener.close();
  });

  test("the headers of a stream arrive before any event", async () => {
    const response = await world.app.request(streamPath(board_id), {
      headers: { authorization: `Bearer ${home.owner.token}`, origin: "https://app.example" },
    });
    expect(response.status).toBe(200);
    const { headers } = response;
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-request-id")).toBeTruthy();
    await response.body!.cancel();
  });

  test("HEAD on a stream returns the headers and opens no stream", async () => {
    const head = await world.call("HEAD", streamPath(board_id), { token: home.owner.token });
    expect([head.status, head.headers.get("content-type"), head.text]).toEqual([200, "text/event-stream; charset=utf-8", ""]);
    await waitForPolls();
    world.statements.length = 0;
    await waitForPolls();
    expect(world.statements).toEqual([]);
  });

  test("a comment line keeps the connection of a stream alive", async () => {
    const awake = await createWorld({ streams: { poll_ms: POLL_MS, ping_ms: 30 } });
    const tenant = await awake.tenant("awake");
    const listener = await listen((target, init) => awake.app.request(target, init), streamPath(tenant.board_id), {
      token: tenant.owner.token,
    });
    await listener.waitForText(": ping\n\n: ping\n\n");
    expect(listener.text.replaceAll(": ping\n\n", "")).toBe("");
    await awake.close();
    await listener.waitForEnd();
  });

  test("a problem before the first byte of a stream is an ordinary error answer", async () => {
    const answers = [
      await world.call("GET", streamPath(board_id), {}),
      await world.call("GET", streamPath(crypto.randomUUID()), { token: home.owner.token }),
      await world.call("GET", streamPath(home.board_id), { agent: (await addBoard(world, home, "Elsewhere")).agent.token }),
      await world.call("GET", streamPath(board_id, "?since=yesterday"), { token: home.owner.token }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 403, 422]);
    for (const { headers } of answers) expect(headers.get("content-type")).toBe("application/json");
  });
});

describe("where a stream starts", () => {
  test("a stream starts now when the request names no position", async () => {
    await write("before");
    for (const query of ["", "?since=", "?since=null", "?since=%20"]) {
      const listener = await follow(query);
      await waitForPolls();
      expect(listener.events(), query).toEqual([]);
      await listener.close();
    }
  });

  test("a stream resumes after Last-Event-ID in the order of commits", async () => {
    const first = await follow();
    await write("one");
    await first.waitForEvents(1);
    await first.close();
    await write("two");
    await write("three");
    const second = await resume(first);
    await second.waitForEvents(2);
    await write("four");
    await second.waitForEvents(3);
    await waitForPolls();
    expect(contentsOf(second)).toEqual(["two", "three", "four"]);
    await second.close();
  });

  test("an invalid Last-Event-ID is ignored", async () => {
    await write("before");
    const foreign = Buffer.from(`${2n ** 63n}.1`).toString("base64url");
    const huge = Buffer.from(`1.${"9".repeat(19)}`).toString("base64url");
    for (const last of ["nonsense", "0", "%", "\u00fcber", foreign, huge, "1.1", Buffer.from("-1.1").toString("base64url")]) {
      const listener = await follow("?since=2000-01-01", { token: home.owner.token, last });
      await listener.waitForEvents(1);
      expect(contentsOf(listener), last).toEqual(["before"]);
      await listener.close();
    }
  });

  test("Last-Event-ID takes precedence over since", async () => {
    const first = await follow();
    await write("one");
    await first.waitForEvents(1);
    await first.close();
    const second = await resume(first, "?since=2000-01-01");
    await write("two");
    await second.waitForEvents(1);
    expect(contentsOf(second)).toEqual(["two"]);
    await second.close();
  });

  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
  test.each([
    "2026-01-01T12:00:01Z",
    "2026-01-01T12:00:01",
    "2026-01-01 12:00:01.000",
    "2026-01-01T14:00:01%2B02:00",
    "2026-01-01T14:00:01+02:00",
    "2026-01-01T14:00:01 0200",
    "2026-01-01T14:00:01 02",
    "2026-01-01T10:00:01-02:00",
    "%202026-01-01T12:00:01Z%20",
  ])("since=%s starts a stream with rows written at or after that time", async (since) => {
    await world.db
      .insert(board_memory)
      .values([0, 1, 2].map((second) => ({ board_id, content: `at ${second}`, created_at: at(second) })));
    const listener = await follow(`?since=${since}`);
    await listener.waitForEvents(2);
    await write("now");
    await listener.waitForEvents(3);
    expect(contentsOf(listener)).toEqual(["at 1", "at 2", "now"]);
    await listener.close();
  });

  test.each([
    "yesterday",
    "2026-13-01",
    "2026-02-30",
    "12:00",
    "0",
    "1767268800",
    "1800-01-01",
    "2026-01-01T12:00 PM",
    "undefined",
  ])("since=%s is refused", async (since) => {
    const refused = await world.call("GET", streamPath(board_id, `?since=${encodeURIComponent(since)}`), {
      token: home.owner.token,
    });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toEqual([
      { type: "datetime_parsing", loc: ["query", "since"], msg: "Input should be a valid datetime", input: since },
    ]);
  });

  test("a long history is sent completely and in order before new rows", async () => {
    const history = Array.from({ length: 1_050 }, (_, index) => ({ board_id, content: `${index}` }));
    await world.db.insert(board_memory).values(history);
    const listener = await follow("?since=2000-01-01");
    await write("new");
    await listener.waitForEvents(1_051);
    await waitForPolls();
    expect(contentsOf(listener)).toEqual([...history.map(({ content }) => content), "new"]);
    await listener.close();
  });

  test("the parameter is_chat of a memory stream selects chat, notes or both", async () => {
    const [all, chat, notes] = [await follow(), await follow("?is_chat=true"), await follow("?is_chat=0")];
    await write("note");
    await write("hello", { tags: ["chat"] });
    await all.waitForEvents(2);
    await Promise.all([chat.waitForEvents(1), notes.waitForEvents(1)]);
    await waitForPolls();
    expect([all, chat, notes].map(contentsOf)).toEqual([["note", "hello"], ["hello"], ["note"]]);
    await Promise.all([all, chat, notes].map((stream) => stream.close()));
  });
});
