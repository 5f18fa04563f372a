import { endpoints, groups } from "@board/api/groups";
import { groups as deployed, schedules } from "@board/functions/manifest";
import { scheduled } from "@board/core/schedule";
import { expect, test } from "vitest";
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

test("every function except the fallback has a group of operations", () => {
  const expected = Object.keys(groups).filter((group) => group !== "health");
  expect(
    Object.keys(deployed)
      .filter((name) => name !== "fallback")
      .toSorted(),
  ).toEqual(expected.toSorted());
});

test("no operation is declared twice", () => {
  const all = endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`));
  expect(all.filter((operation, index) => all.indexOf(operation) !== index)).toEqual([]);
});

test("every schedule has a handler and runs rarely enough for an idle database to sleep", () => {
  expect(Object.keys(schedules).toSorted()).toEqual(Object.keys(scheduled).toSorted());
  for (const { every_minutes } of Object.values(schedules)) expect(every_minutes).toBeGreaterThanOrEqual(5);
});
