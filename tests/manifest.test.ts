import { endpoints, groups } from "@board/api/groups";
import { groups as deployed, schedules } from "@board/functions/manifest";
import { scheduled } from "@board/core/schedule";
import { expect, test } from "vitest";
import { routeOf } from "./support/api-gateway.ts";

test("every operation reaches the function of its group", () => {
  const astray = Object.entries(groups).flatMap(([group, own]) =>
    own.flatMap(({ method, paths }) =>
      paths
        .map((path) => ({ path, reached: routeOf(method, path.replaceAll(/\{\w+\}/g, "x")).group }))
        .filter(({ reached }) => reached !== (group === "health" ? "fallback" : group))
        .map(({ path, reached }) => `${method} ${path} of ${group} reaches ${reached}`),
    ),
  );
  expect(astray).toEqual([]);
});

test("every function but the fallback has a group of operations", () => {
  const expected = Object.keys(groups).filter((group) => group !== "health");
  expect(
    Object.keys(deployed)
      .filter((name) => name !== "fallback")
      .toSorted(),
  ).toEqual(expected.toSorted());
});

test("no operation is declared twice", () => {
  const all = endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`));
  expect(all.filter((one, index) => all.indexOf(one) !== index)).toEqual([]);
});

test("every schedule has something to run, and lets an idle database sleep in between", () => {
  expect(Object.keys(schedules).toSorted()).toEqual(Object.keys(scheduled).toSorted());
  for (const { every_minutes } of Object.values(schedules)) expect(every_minutes).toBeGreaterThanOrEqual(5);
});
