import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { createConnection } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { startLocalService } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

/** Longer than a test: only a second SIGTERM ends the process in time. */
const ENDLESS = "300";
/** How long to wait until the process has received the beginning of a request, and how late the rest of it is sent. */
const BEGIN_MS = 500;
const REST_MS = 4_000;
/** The process ignores a second SIGTERM that comes right after the first one, so the tests wait this long. */
const LATER_MS = 1_200;
const WAIT = { timeout: 20_000, interval: 20 };
const statusOf = async (address: string) => (await fetch(address)).status;

test("a process that gets SIGTERM becomes unready but answers for DRAIN_SECONDS, and ends at once at the second SIGTERM", async () => {
  const service = await startLocalService(dataFolder(), { DRAIN_SECONDS: ENDLESS });
  const { url } = service;
  expect(await statusOf(`${url}/readyz`)).toBe(200);
  void service.stop();
  await vi.waitUntil(async () => (await statusOf(`${url}/readyz`)) === 503, WAIT);
  const answer = await fetch(`${url}/healthz`);
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  await pause(LATER_MS);
  expect(await service.stop()).toMatchObject({ code: 0 });
});

test("a request whose body is still arriving when a process is asked to stop is answered, even if that takes seconds", async () => {
  const service = await startLocalService(dataFolder());
  const body = JSON.stringify({ name: "Shop", description: "Keep it open", gateway: "pull" });
  const headers = {
    authorization: `Bearer ${service.token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  const sending = request(`${service.url}/api/v1/boards`, { method: "POST", headers });
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  sending.write(body.slice(0, 5));
  await pause(BEGIN_MS);
  const ended = service.stop();
  await pause(REST_MS);
  sending.end(body.slice(5));
  const [answer] = await answered;
  expect([answer.statusCode, (await json(answer)) as object]).toMatchObject([200, { name: "Shop" }]);
  expect(await ended).toMatchObject({ code: 0 });
});

test("without DRAIN_SECONDS a process that gets SIGTERM takes no new connection", async () => {
  const service = await startLocalService(dataFolder());
  expect(await service.stop()).toMatchObject({ code: 0 });
  const refused = await new Promise<string | undefined>((resolve) =>
    createConnection({ port: Number(new URL(service.url).port), host: "127.0.0.1" })
      .once("error", ({ code }: NodeJS.ErrnoException) => resolve(code))
      .once("connect", () => resolve(undefined)),
  );
  expect(refused).toBe("ECONNREFUSED");
});
