import { createHash } from "node:crypto";
import { RE2JS } from "re2js";
import { expect, test, vi } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addField, FIELDS } from "../support/custom-field.ts";
import type { Tenant } from "../support/world.ts";

let count = 0;

const world = await setupWorld({
  limits: { caller_running_requests: 0, organization_running_requests: 0, running_requests: 0 },
});
const home = await world.tenant("home");
const other = await world.tenant("other");

const field = (body: object) => addField(world, home, { field_key: `key_${++count}`, ...body });
const create = (custom_field_values: object, { owner, board_id }: Tenant = home) =>
  world.call("POST", `/api/v1/boards/${board_id}/tasks`, { ...owner, body: { title: "Task", custom_field_values } });
const patchField = (id: string, body: object) => world.call("PATCH", `${FIELDS}/${id}`, { ...home.owner, body });

const matches = Object.getOwnPropertyDescriptor(RE2JS.prototype, "matches")!.value as (this: RE2JS, text: string) => boolean;

/** Calls `observe` before each match of the engine, until the spy is restored. */
const spyOnMatches = (observe: () => void) =>
  vi.spyOn(RE2JS.prototype, "matches").mockImplementation(function (this: RE2JS, text) {
    observe();
    return matches.call(this, text as string);
  });

/** Calls `work`, and returns for every match whether a row had been locked before it. */
async function matchesDuring(work: () => Promise<unknown>): Promise<boolean[]> {
  const hadLocks: boolean[] = [];
  world.statements.length = 0;
  const spy = spyOnMatches(() =>
    hadLocks.push(world.statements.some((statement) => / for (?:share|no key update)/.test(statement))),
  );
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return hadLocks;
}

test("values are matched against patterns before any row is locked", async () => {
  const { id, field_key } = await field({ validation_regex: "[a-z]+" });
  let task = "";
  expect(await matchesDuring(async () => (task = (await create({ [field_key]: "abc" })).body.id))).toEqual([false]);
  const path = `/api/v1/boards/${home.board_id}/tasks/${task}`;
  const change = () => world.call("PATCH", path, { ...home.owner, body: { custom_field_values: { [field_key]: "abcd" } } });
  expect(await matchesDuring(change)).toEqual([false]);
  let status = 0;
  const restrict = async () => void ({ status } = await patchField(id, { validation_regex: "[a-d]+", default_value: "a" }));
  expect(await matchesDuring(restrict)).toEqual([false, false]);
  expect(status).toBe(200);
});

/** This pattern on an irregular text keeps the engine busy for a fifth of a second, near its limit of steps. */
const SLOW_PATTERN = "[ab]*a[ab]{200}c";
const SLOW_TEXT = Array.from(createHash("shake128", { outputLength: 48_000 }).update("text").digest(), (byte) =>
  byte % 2 === 0 ? "a" : "b",
).join("");

test("a task of one organization is created while another organization's slow patterns wait", async () => {
  const { field_key } = await field({ validation_regex: SLOW_PATTERN });
  const finished: string[] = [];
  const slow = Array.from({ length: 6 }, () => create({ [field_key]: SLOW_TEXT }).finally(() => finished.push("slow")));
  const ordinary = create({}, other).finally(() => finished.push("ordinary"));
  expect((await ordinary).status).toBe(200);
  expect(finished.filter((name) => name === "slow").length).toBeLessThan(3);
  expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(slow.map(() => 422));
});

test("an organization with too many slow matches at a time gets 429 with Retry-After", async () => {
  const { field_key } = await field({ validation_regex: ".{1,1000}" });
  const answers = await Promise.all(Array.from({ length: 40 }, () => create({ [field_key]: "a".repeat(400) })));
  const limited = answers.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThan(0);
  expect(limited[0]!.headers.get("retry-after")).toBe("5");
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
  expect((await create({ [field_key]: "a".repeat(400) })).status).toBe(200);
});

test("the values of one task share a budget of matching steps", async () => {
  const fields = [];
  for (let index = 0; index < 3; index++) fields.push(await field({ validation_regex: "(?:.{0,1000})?.*" }));
  const values = fields.map(({ field_key }) => [field_key, "a".repeat(4_000)] as const);
  expect((await create(Object.fromEntries(values.slice(0, 2)))).status).toBe(200);
  expect((await create(Object.fromEntries(values.slice(1)))).status).toBe(200);
  const refused = await create(Object.fromEntries(values));
  expect([refused.status, refused.body.detail.reason]).toEqual([
    422,
    "would take too long to match, together with the other values",
  ]);
});
