import { endpoints, groups } from "@board/api/groups";
import { type ApiGroup, groups as deployed, schedules } from "@board/functions/manifest";
import { scheduled } from "@board/core/schedule";
import { expect, test } from "vitest";

const routes = Object.entries<ApiGroup>(deployed).flatMap(([group, { routes: keys }]) => keys.map((key) => ({ group, key })));

/**
 * The function API Gateway picks for a request: a full match wins over a greedy one, the longer one over the shorter, a
 * method of its own over ANY, and `$default` takes the rest.
 */
function functionFor(method: string, path: string): string {
  const segments = path.split("/");
  const scored = routes.flatMap(({ group, key }) => {
    const [keyMethod = "", pattern = ""] = key.split(" ");
    if (key === "$default" || (keyMethod !== "ANY" && keyMethod !== method)) return [];
    const parts = pattern.split("/");
    const greedy = parts.at(-1) === "{proxy+}";
    if (greedy ? segments.length < parts.length : segments.length !== parts.length) return [];
    const fixed = greedy ? parts.slice(0, -1) : parts;
    if (!fixed.every((part, index) => part.startsWith("{") || part === segments[index])) return [];
    return [{ group, score: [greedy ? 0 : 1, parts.length, keyMethod === "ANY" ? 0 : 1] }];
  });
  scored.sort((a, b) => b.score[0]! - a.score[0]! || b.score[1]! - a.score[1]! || b.score[2]! - a.score[2]!);
  return scored[0]?.group ?? "fallback";
}

test("every operation reaches the function of its group", () => {
  const astray = Object.entries(groups).flatMap(([group, own]) =>
    own.flatMap(({ method, paths }) =>
      paths
        .map((path) => ({ path, reached: functionFor(method, path.replaceAll(/\{\w+\}/g, "x")) }))
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
