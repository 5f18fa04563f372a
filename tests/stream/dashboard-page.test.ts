/**
 * Tests the activity page of a dashboard, which opens three streams per board and one of agents. The page ignores `retry` and
 * Retry-After, and reopens every stream that has ended or was refused.
 */
import { agents, stream_leases } from "@board/core/schema/all-tables";
import { afterEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { postComment } from "../support/feed.ts";
import { listen, parseEvents } from "../support/sse.ts";
import { addTask } from "../support/task.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "../support/world.ts";
import { POLL_MS } from "./memory-stream-client.ts";

const BOARDS = 20;
const STREAMS = BOARDS * 3 + 1;
/** Longer than any test may take. */
const LONG_HOLD_SECONDS = 600;

let world: World;
let home: Tenant;
let boards: string[];

async function open(streams: WorldOptions["streams"], environment: Record<string, string> = {}) {
  world = await createWorld({ environment, streams: { poll_ms: POLL_MS, ...streams } });
  home = await world.tenant("home");
  boards = [home.board_id];
  while (boards.length < BOARDS) boards.push((await addBoard(world, home, `Board ${boards.length}`)).board_id);
  // An answer also contains the changes of the last five seconds, so the agents are made older than that.
  const long_ago = new Date(Date.now() - 3_600_000);
  await world.db.update(agents).set({ created_at: long_ago, updated_at: long_ago });
}
afterEach(() => world.close());

const taskStream = (board_id: string, query = "") => `/api/v1/boards/${board_id}/tasks/stream${query}`;
const paths = () => [
  ...boards.flatMap((board_id) => [
    taskStream(board_id),
    `/api/v1/boards/${board_id}/approvals/stream`,
    `/api/v1/boards/${board_id}/memory/stream`,
  ]),
  "/api/v1/agents/stream",
];
const comment = async (board_id: string) => {
  const task = await addTask(world, { ...home, board_id });
  await postComment(world, home, task, `on ${board_id}`);
};
type Event = ReturnType<typeof parseEvents>[number];
const isCommentOn =
  (board_id: string) =>
  ({ data }: Event) =>
    data.comment?.message === `on ${board_id}`;

test("a page with three streams for each of 20 boards gets the comments of every board, and none of its streams ends", async () => {
  await open({});
  const { token } = home.owner;
  const streams = await Promise.all(paths().map((path) => listen((to, init) => world.app.request(to, init), path, { token })));
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  for (const board_id of boards) await comment(board_id);
  const feeds = streams.slice(0, -1).filter((_, index) => index % 3 === 0);
  for (const [index, feed] of feeds.entries())
    await expect.poll(() => feed.events().some(isCommentOn(boards[index]!)), { timeout: 10_000 }).toBe(true);
  expect(streams.some(({ ended }) => ended)).toBe(false);
  await Promise.all(streams.map((stream) => stream.close()));
});

describe("behind an API Gateway, where answers are held until their first event", () => {
  const held = { max_seconds: 0, hold_seconds: LONG_HOLD_SECONDS, count_in: "database", lease_check_ms: POLL_MS } as const;

  const openLeases = async () => (await world.db.select().from(stream_leases)).length;

  /** Simulates the page's requests. `waiting` contains the paths of requests without an answer. */
  function openPage() {
    const waiting = new Set<string>();
    const answers: { path: string; status: number; events: Event[] }[] = [];
    const ask = async (path: string) => {
      waiting.add(path);
      const { status, text } = await world.call("GET", path, { token: home.owner.token });
      waiting.delete(path);
      answers.push({ path, status, events: status === 200 ? parseEvents(text) : [] });
    };
    return { waiting, answers, ask };
  }

  test("a page with 20 boards gets the comments of every board when the budget has room for its streams", async () => {
    await open(held, { STREAMS_PER_CALLER: "100", STREAMS_PER_ORGANIZATION: "100" });
    const { waiting, answers, ask } = openPage();
    for (const path of paths()) void ask(path);
    await expect.poll(() => openLeases(), { timeout: 10_000 }).toBe(STREAMS);
    expect(answers).toEqual([]);
    for (const board_id of boards) await comment(board_id);
    const isAnswered = (board_id: string) => answers.some(({ path }) => path === taskStream(board_id));
    await expect.poll(() => boards.every(isAnswered), { timeout: 10_000 }).toBe(true);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(waiting.size).toBe(STREAMS - answers.length);
  });

  test("retries of a page with more streams than the budget end no stream, and the page still gets the stored events", async () => {
    const budget = 10;
    await open(held, { STREAMS_PER_CALLER: String(budget) });
    const { waiting, answers, ask } = openPage();
    for (const path of paths()) void ask(path);
    for (let round = 1; round <= 3; round++) {
      const refused = (STREAMS - budget) * round;
      await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(refused);
      expect([waiting.size, answers.filter(({ status }) => status !== 429)]).toEqual([budget, []]);
      if (round < 3) for (const path of paths()) if (!waiting.has(path)) void ask(path);
    }
    const { path, board_id } = boards.map((id) => ({ path: taskStream(id), board_id: id })).find((it) => !waiting.has(it.path))!;
    const since = new Date(Date.now() - 1_000).toISOString();
    await comment(board_id);
    await ask(`${path}?since=${since}`);
    expect(answers.at(-1)).toMatchObject({ status: 200 });
    expect(answers.at(-1)!.events.some(isCommentOn(board_id))).toBe(true);
  });
});
