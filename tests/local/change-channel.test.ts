import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { openChangeChannel } from "@board/core/db/change-channel";
import { silentLog } from "@board/core/values/log";
import { expect, onTestFinished, test, vi } from "vitest";
import { startLatencyProxy } from "../bench/latency-proxy.ts";
import { startPostgres } from "../support/postgres.ts";

/** Longer than the time between two notifications. */
const ROUND_TRIP_MS = 400;
const CHANGES = 8;
const WAIT = { timeout: 20_000, interval: 10 };

test("while the database is slow with a notification, the next notification waits and then names all changes since", async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const address = new URL(await postgres.createDatabase("changes"));
  const proxy = await startLatencyProxy(Number(address.port), ROUND_TRIP_MS);
  onTestFinished(() => proxy.close());
  const other = openChangeChannel(address.href, silentLog);
  onTestFinished(() => other.close());
  address.port = String(proxy.port);
  const own = openChangeChannel(address.href, silentLog);
  onTestFinished(() => own.close());

  const warnings: string[] = [];
  const warn = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const [told, heard] = [new Set<string>(), new Set<string>()];
  let notifications = 0;
  own.listen((ids) => ids.forEach((id) => told.add(id)));
  other.listen((ids) => {
    notifications++;
    ids.forEach((id) => heard.add(id));
  });
  await vi.waitUntil(() => {
    own.note("first");
    return heard.has("first");
  }, WAIT);

  notifications = 0;
  for (let n = 0; n < CHANGES; n++) {
    own.note(`change ${n}`);
    await vi.waitUntil(() => told.has(`change ${n}`), WAIT);
  }
  await vi.waitUntil(() => heard.size === CHANGES + 1, WAIT);
  expect(notifications).toBeLessThan(CHANGES);
  expect(warnings, "the driver queues nothing").toEqual([]);
});

test("a database that accepts the connection and never answers is given up, and connected to again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on("error", () => {}).resume())).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const warnings: string[] = [];
  const { port } = silent.address() as AddressInfo;
  const channel = openChangeChannel(`postgres://board@127.0.0.1:${port}/board`, {
    ...silentLog,
    warn: (event) => void warnings.push(event),
  });
  await once(silent, "connection");

  await vi.advanceTimersByTimeAsync(10_000);
  await once(silent, "connection");
  expect(warnings).toEqual(["changes.not_connected"]);
  await vi.advanceTimersByTimeAsync(10_000);
  await channel.close();
});
