import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Endpoint, isStream } from "@board/api/endpoint";
import { endpoints, groups } from "@board/api/groups";
import { streamRoutes } from "@board/api/stream/stream-routes";
import { type ApiGroup, groups as deployed, schedules, stream } from "@board/functions/manifest";
import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { bundleFunctions } from "../support/bundle.ts";
import { routeOf } from "../support/api-gateway.ts";

test("every operation is routed to the function of its group", () => {
  const misrouted = Object.entries(groups).flatMap(([group, operations]) =>
    operations.flatMap(({ method, paths }) =>
      paths
        .map((path) => ({ path, reached: routeOf(method, path.replaceAll(/\{\w+\}/g, "x")).group }))
        .filter(({ reached }) => reached !== (group === "health" ? "fallback" : group))
        .map(({ path, reached }) => `${method} ${path} of ${group} reaches ${reached}`),
    ),
  );
  expect(misrouted).toEqual([]);
});

test("the stream function serves every stream and nothing else", () => {
  const ids = (list: readonly Endpoint[]) => list.map(({ method, paths }) => `${method} ${paths.join(" ")}`).toSorted();
  expect(ids(streamRoutes)).toEqual(ids(endpoints.filter(isStream)));
});

test("the bundle of the stream function holds no operation that is not a stream", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "stream-bundle-"));
  const { stream } = await bundleFunctions(["stream"], { into: folder });
  rmSync(folder, { recursive: true });
  const loaded = stream!.modules.filter((module) => /api\/src\/routes\//.test(module));
  expect(loaded.length).toBeGreaterThan(0);
  expect(loaded.filter((module) => !/-streams?\.ts$/.test(module))).toEqual([]);
});

test("every function except the fallback and the one for accounts has a group of operations", () => {
  const expected = Object.keys(groups).filter((group) => group !== "health");
  expect(
    Object.keys(deployed)
      .filter((name) => name !== "fallback" && name !== "accounts")
      .toSorted(),
  ).toEqual(expected.toSorted());
});

/** Time for a cold start, for the reads before the wait, and for the answer. */
const MARGIN_SECONDS = 5;

test("a function behind API Gateway does not time out while the answer of a stream waits for its first event", () => {
  const tooShort = Object.entries<ApiGroup>(deployed).filter(
    ([name, { timeout_seconds }]) =>
      groups[name as keyof typeof groups]?.some(isStream) && timeout_seconds < stream.hold_seconds + MARGIN_SECONDS,
  );
  expect(tooShort).toEqual([]);
});

test("no operation is declared twice", () => {
  const all = endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`));
  expect(all.filter((operation, index) => all.indexOf(operation) !== index)).toEqual([]);
});

test("every schedule has a handler and runs rarely enough for an idle database to sleep", () => {
  expect(Object.keys(schedules).toSorted()).toEqual(Object.keys(scheduled).toSorted());
  for (const { every_minutes } of Object.values(schedules)) expect(every_minutes).toBeGreaterThanOrEqual(5);
});
