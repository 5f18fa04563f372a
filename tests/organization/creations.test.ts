import { runScheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

const LIMIT = 3;
const HOUR_MS = 3_600_000;

const world = await setupWorld({
  limits: { organizations_per_day: LIMIT },
  clock: () => new Date("2026-11-25T10:00:00Z"),
});

const create = (person: Person, name: string) =>
  world.call("POST", "/api/v1/organizations", { token: person.token, body: { name } });

test("a person can create a limited number of organizations in a day, and deleted ones count", async () => {
  const person = await world.person("founder");
  for (let n = 0; n < LIMIT; n++) {
    expect((await create(person, `Company ${n}`)).status).toBe(200);
    await world.call("DELETE", "/api/v1/organizations/me", { token: person.token });
  }
  // Old counters are removed once an hour.
  world.elapse(HOUR_MS);
  await runScheduled(world.context(), "retention");
  const refused = await create(person, "One more");
  expect([refused.status, refused.body]).toEqual([
    429,
    { detail: "You have created 3 organizations today, which is the limit. Try again tomorrow." },
  ]);
  expect(refused.headers.get("retry-after")).toBe(String(13 * 3_600));
  expect((await create(await world.person("another"), "Company")).status).toBe(200);
  world.elapse(13 * HOUR_MS);
  expect((await create(person, "One more")).status).toBe(200);
});

test("a name that is refused does not count toward the organizations of a day", async () => {
  const person = await world.person("repeater");
  expect((await create(person, "Company")).status).toBe(200);
  for (let n = 0; n < LIMIT; n++) expect((await create(person, "Company")).status).toBe(409);
  expect((await create(person, "Another company")).status).toBe(200);
});
