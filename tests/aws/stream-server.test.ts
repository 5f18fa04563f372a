/** The container of streams: its bundle, started as the image starts it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { bundleFile } from "../support/bundle.ts";
import { listen } from "../support/sse.ts";
import { startAwsDeployment } from "./deployment.ts";

const folder = mkdtempSync(path.join(tmpdir(), "stream-server-"));
let server: ChildProcess;
let url: string;

async function start(environment: Record<string, string>): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [path.join(folder, "bundle.mjs")], {
    env: { PATH: process.env.PATH, ...environment, HOST: "127.0.0.1", PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(child.stdout!)) {
    const { event, port } = JSON.parse(line) as { event?: string; port?: number };
    if (event === "streams.listening") return { child, url: `http://127.0.0.1:${port}` };
  }
  throw new Error("The server ended before it listened");
}

await bundleFile("packages/functions/src/stream-server.ts", folder);
const cloud = await startAwsDeployment();
const home = await cloud.world.tenant("home");
({ child: server, url } = await start(cloud.environment));
afterAll(async () => {
  server.kill("SIGKILL");
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

const follow = (last?: string) =>
  listen((target, init) => fetch(url + target, init), `/api/v1/boards/${home.board_id}/memory/stream`, {
    token: home.owner.token,
    last,
  });
const write = (content: string) =>
  cloud.world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body: { content } });

test("the container answers health checks and no operation that is not a stream", async () => {
  const statuses = await Promise.all(
    ["/health", "/readyz", `/api/v1/boards/${home.board_id}/memory`].map(async (target) => (await fetch(url + target)).status),
  );
  expect(statuses).toEqual([200, 200, 404]);
});

test("the container accepts more streams of a person than functions do, and refuses streams beyond its own limit", async () => {
  const streams = await Promise.all(Array.from({ length: 201 }, () => follow()));
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(200);
  expect(streams.filter(({ status }) => status === 429)).toHaveLength(1);
  expect(streams.filter(({ status, ended }) => status === 200 && ended)).toEqual([]);
  await Promise.all(streams.map((stream) => stream.close()));
});

test("when the container stops, its streams end with an event id to resume from, and it exits", async () => {
  const stream = await follow();
  await write("one");
  await stream.waitForEvents(1);
  const exited = once(server, "exit");
  server.kill("SIGTERM");
  await stream.waitForEnd();
  expect(stream.text).toMatch(/\nid: [\w-]+\nretry: 2000\n\n$/);
  expect(await exited).toEqual([0, null]);
  await write("two");
  ({ child: server, url } = await start(cloud.environment));
  const resumed = await follow(stream.lastId());
  expect((await resumed.waitForEvents(1)).map(({ data }) => data.memory.content)).toEqual(["two"]);
  await resumed.close();
});
