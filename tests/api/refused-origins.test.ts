import { afterEach, expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

let world: World;
afterEach(() => world.close());

const open = async (CORS_ORIGINS: string) => {
  world = await createWorld({ environment: { CORS_ORIGINS } });
};
const askFrom = (origin: string, method = "GET") =>
  world.call(method, "/healthz", {
    headers: { origin, ...(method === "OPTIONS" ? { "access-control-request-method": "GET" } : {}) },
  });
const warnings = () => world.log.filter(({ event }) => event === "cors.origin_refused");

test.each(["", "https://app.example"])(
  "an origin that CORS_ORIGINS=%j does not list is logged once, with its name and the setting",
  async (listed) => {
    await open(listed);
    for (const method of ["OPTIONS", "GET", "GET"]) await askFrom("http://localhost:3000", method);
    expect(warnings()).toEqual([expect.objectContaining({ level: "warn", origin: "http://localhost:3000" })]);
    expect(warnings()[0]!.message).toMatch(/http:\/\/localhost:3000 .*CORS_ORIGINS/);
  },
);

test("neither a listed origin nor the service's own origin is logged as refused", async () => {
  world = await createWorld({ environment: { CORS_ORIGINS: "https://app.example", BASE_URL: "https://board.example/" } });
  await askFrom("https://app.example");
  await askFrom("https://board.example");
  await askFrom("http://localhost");
  await askFrom("https://localhost");
  expect(warnings()).toEqual([]);
});

test("text that is not an origin is not logged, whatever it looks like", async () => {
  await open("https://app.example");
  for (const origin of [
    "null",
    "x",
    "https://a b",
    "https://a/path",
    `https://${"a".repeat(400)}`,
    '{"event":"forged"}',
    "javascript:alert(1)",
  ])
    await askFrom(origin);
  expect(warnings()).toEqual([]);
});

test("a client that keeps sending new origins does not fill the log", async () => {
  await open("https://app.example");
  for (let number = 0; number < 100; number++) await askFrom(`https://${number}.example`);
  expect(warnings()).toHaveLength(20);
});
