import { endpoints } from "@board/api/groups";
import { subscriptions } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import * as z from "zod";
import type { CallOptions } from "../support/http.ts";
import { seedSubscription } from "../support/seed-subscription.ts";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";
import { openPagedLists } from "./paged-lists.ts";

interface List {
  path: string;
  url: string;
  who: CallOptions;
}

const ID = "00000000-0000-4000-8000-000000000000";
const encoded = (text: string) => Buffer.from(text).toString("base64url");
const TIMES = ["2026-02-30T00:00:00.000Z", "0000-01-01T00:00:00.000Z", "9999-99-99T00:00:00.000Z", "10000-01-01", "-1", "NaN"];
const HUGE = "9".repeat(19);

/** Cursors that a client could make up, in every form that the service has ever used for cursors. */
const HOSTILE: [name: string, cursor: string][] = [
  ["of one letter", "x"],
  ["with NUL", "%00"],
  ["with a cut character", "%f0%9f"],
  ["of 500 digits", "9".repeat(500)],
  ...TIMES.flatMap((time): [string, string][] => [
    [`at ${time} in clear`, time],
    [`at ${time} after a space`, encoded(`${time} ${ID}`)],
    [`at ${time} in JSON`, encoded(JSON.stringify([time, ID]))],
  ]),
  ["of another kind of id", encoded("2026-01-01T00:00:00.000Z not-an-id")],
  ["of nulls", encoded("[null,null]")],
  ["above all transaction ids", encoded(`${HUGE}9.1`)],
  ["above all numbers of rows", encoded(`1.${HUGE}`)],
  ["below zero", encoded("-1.-1")],
  ["of another organization", encoded(`1.1.${ID}`)],
];

const world = await setupWorld();
const home = await world.tenant("home");
const paged = await openPagedLists(world, home);
const ids = [(await seedSubscription(world, home)).subscription_id, (await seedSubscription(world, home)).subscription_id];
// The first subscription covers the whole organization.
await world.db.update(subscriptions).set({ board_id: null }).where(eq(subscriptions.id, ids[0]!));
const task = await addTask(world, home, { status: "in_progress", assigned_agent_id: home.worker.id });
const toList = (path: string, subscription_id = "") => ({
  path,
  url: path.replace("{board_id}", home.board_id).replace("{subscription_id}", subscription_id).replace("{run_id}", task.run_id!),
  who: { token: home.owner.token },
});
const lists: List[] = [
  ...paged,
  toList("/api/v1/subscriptions/{subscription_id}/deliveries", ids[0]),
  toList("/api/v1/boards/{board_id}/subscriptions/{subscription_id}/deliveries", ids[1]),
  toList("/api/v1/boards/{board_id}/runs/{run_id}/steps"),
  ...["/api/v1/jobs", "/api/v1/changes", "/api/v1/changes/stream", "/api/v1/users/me/inbox"].map((path) => toList(path)),
];

const mark = (url: string) => (url.includes("?") ? "&" : "?");

test("these tests cover every operation that takes a cursor", () => {
  const found = endpoints.filter(({ spec }) => spec.query instanceof z.ZodObject && "cursor" in spec.query.shape);
  const paths = found.flatMap((endpoint) => endpoint.paths);
  expect(new Set(lists.map(({ path }) => path))).toEqual(new Set(paths));
});

test.each(HOSTILE)("an invented cursor %s is refused by every operation that takes one", async (_name, cursor) => {
  for (const { url, who } of lists) {
    const answer = await world.call("GET", `${url}${mark(url)}cursor=${cursor}`, who);
    expect(answer.status, url).toBe(422);
  }
});

test("every operation that takes a cursor gives the same items for an empty cursor as for no cursor", async () => {
  for (const { path, url, who } of lists.filter((list) => !list.path.endsWith("/stream"))) {
    const [none, empty] = [await world.call("GET", url, who), await world.call("GET", `${url}${mark(url)}cursor=`, who)];
    expect([path, empty.status]).toEqual([path, 200]);
    expect(empty.body.items, path).toEqual(none.body.items);
  }
});
