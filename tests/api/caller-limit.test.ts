import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ limits: { caller_running_requests: 2, caller_waiting_requests: 3 } });
const home = await world.tenant("home");
const other = await world.tenant("other");

const readBoards = (token: string) => world.call("GET", "/api/v1/boards", { token });
const readAtOnce = (count: number, token: string) => Promise.all(Array.from({ length: count }, () => readBoards(token)));

test("a client with too many concurrent requests gets 429, and all requests that were accepted are answered", async () => {
  const [answers, others] = await Promise.all([readAtOnce(20, home.owner.token), readAtOnce(5, other.owner.token)]);
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(refused).toHaveLength(15);
  expect(refused[0]?.headers.get("retry-after")).toBe("5");
  expect(refused[0]?.body.detail).toBe("Too many requests of this caller are waiting. Try again in a few seconds.");
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});

test("a client whose requests have been answered may send further requests", async () => {
  for (let round = 0; round < 4; round++)
    expect((await readAtOnce(5, home.owner.token)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});

test("a request that fails no longer counts toward the concurrent requests of its client", async () => {
  for (let round = 0; round < 10; round++) expect((await readBoards("not-a-token")).status).toBe(401);
  expect((await readBoards(home.owner.token)).status).toBe(200);
  for (let round = 0; round < 10; round++)
    expect((await world.call("GET", "/api/v1/boards/none", { token: home.owner.token })).status).toBeGreaterThanOrEqual(400);
  expect((await readBoards(home.owner.token)).status).toBe(200);
});

test("open streams do not count toward the concurrent requests of a client", async () => {
  const path = `/api/v1/boards/${home.board_id}/tasks/stream`;
  const open = async () => world.app.request(path, { headers: { authorization: `Bearer ${home.owner.token}` } });
  const streams = await Promise.all([open(), open(), open(), open()]);
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await readBoards(home.owner.token)).status).toBe(200);
  for (const { body } of streams) await body?.cancel();
});

test("requests with one credential share one limit, whatever header or spelling the credential is sent with", async () => {
  const read = async (index: number) => {
    const authorization = `${index % 2 === 0 ? "Bearer" : "bearer"} ${" ".repeat(index)}${home.owner.token}`;
    return world.app.request("/api/v1/boards", { headers: { authorization, "x-agent-token": `unused-${index}` } });
  };
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => read(index)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
});
