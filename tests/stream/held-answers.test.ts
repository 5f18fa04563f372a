import { board_memory } from "@board/core/schema/all-tables";
import { afterEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import type { Answer } from "../support/http.ts";
import { parseEvents } from "../support/sse.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "../support/world.ts";
import { POLL_MS, streamPath, waitForPolls } from "./memory-stream-client.ts";

/** Longer than any test may take. */
const LONG_HOLD_SECONDS = 600;
const SHORT_HOLD_SECONDS = 0.1;

let world: World;
let tenant: Tenant;
let board_id: string;
const opened: World[] = [];

/** Opens a service whose answers cannot be streamed, as behind API Gateway. */
async function openEdge(streams: WorldOptions["streams"], environment: Record<string, string> = {}) {
  world = await createWorld({ environment, streams: { max_seconds: 0, poll_ms: POLL_MS, ...streams } });
  opened.push(world);
  tenant = await world.tenant("edge");
  ({ board_id } = tenant);
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((edge) => edge.close()));
});

const ask = (query = "", last?: string, token = tenant.owner.token) =>
  world.call("GET", streamPath(board_id, query), { token, headers: last ? { "last-event-id": last } : {} });
const post = (content: string) =>
  world.call("POST", `/api/v1/boards/${board_id}/memory`, { token: tenant.owner.token, body: { content } });
const lastId = ({ text }: Answer) => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
const contents = ({ text }: Answer) => parseEvents(text).map(({ data }) => data.memory.content);
/** An answer without events: where to continue, and when. */
const POSITION_ONLY = /^id: [\w-]+\nretry: \d+\n\n$/;
/** Adds an entry that looks a minute old, too old to have been written in the pause between two answers. */
const addOldEntry = (content: string) =>
  world.db.insert(board_memory).values({ board_id, content, created_at: new Date(Date.now() - 60_000) });

describe("an answer that cannot be streamed", () => {
  test("an answer that cannot be streamed waits for the first event and then ends with it", async () => {
    await openEdge({ hold_seconds: LONG_HOLD_SECONDS });
    const answer = ask();
    await waitForPolls();
    await post("first");
    expect(contents(await answer)).toEqual(["first"]);
    expect((await answer).text).toMatch(/\n\nid: [\w-]+\nretry: 20\n\n$/);
  });

  test("an answer that cannot be streamed names the position to continue from when there was no event", async () => {
    await openEdge({ hold_seconds: SHORT_HOLD_SECONDS });
    await addOldEntry("before");
    const first = await ask();
    expect(first.text).toMatch(POSITION_ONLY);
    await addOldEntry("between");
    const second = await ask("", lastId(first));
    expect(contents(second)).toEqual(["between"]);
    expect((await ask("", lastId(second))).text).toMatch(POSITION_ONLY);
  });

  test("a client that sends no position gets what was written in the pause since its last request", async () => {
    await openEdge({ hold_seconds: SHORT_HOLD_SECONDS });
    await addOldEntry("long ago");
    expect((await ask()).text).toMatch(POSITION_ONLY);
    await post("between");
    expect(contents(await ask())).toEqual(["between"]);
  });

  test("stored events are answered at once, together", async () => {
    await openEdge({ hold_seconds: LONG_HOLD_SECONDS });
    await post("one");
    await post("two");
    expect(contents(await ask("?since=2000-01-01"))).toEqual(["one", "two"]);
  });

  test("a waiting answer ends without an event when its reader loses access", async () => {
    await openEdge({ hold_seconds: LONG_HOLD_SECONDS });
    const { agent, board_id: other } = await addBoard(world, tenant, "Other");
    board_id = other;
    const answer = world.call("GET", streamPath(other), { agent: agent.token });
    await waitForPolls();
    await world.call("DELETE", `/api/v1/boards/${other}`, { token: tenant.owner.token });
    expect((await answer).text).toBe("");
  });

  test("waiting answers count as streams: a further request gets 429 unless it has events, and no waiting answer ends", async () => {
    await openEdge(
      { hold_seconds: LONG_HOLD_SECONDS, count_in: "database", lease_check_ms: POLL_MS },
      { STREAMS_PER_CALLER: "1" },
    );
    const waiting = ask();
    await waitForPolls();
    expect((await ask()).status).toBe(429);
    await waitForPolls();
    await post("hello");
    expect(contents(await ask())).toEqual(["hello"]);
    expect(contents(await waiting)).toEqual(["hello"]);
  });

  test("a stop of the process ends waiting answers with their position", async () => {
    const stopping = new AbortController();
    await openEdge({ hold_seconds: LONG_HOLD_SECONDS, shutdown_signal: stopping.signal });
    const answer = ask();
    await waitForPolls();
    stopping.abort();
    expect((await answer).text).toMatch(POSITION_ONLY);
  });

  test("a waiting answer is not logged as a slow request", async () => {
    await openEdge({ hold_seconds: 1.1 });
    await ask();
    expect(world.log.filter(({ event }) => event === "http.slow")).toEqual([]);
  });
});
