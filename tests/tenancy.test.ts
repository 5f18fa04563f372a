import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "@board/api/groups";
import { openMatrix, type Matrix } from "./support/access-matrix.ts";
import { conditionsOf, interceptStatements, weaken } from "./support/weakened.ts";

let matrix: Matrix;
beforeAll(async () => {
  matrix = await openMatrix();
});
afterAll(() => matrix.close());

describe("everybody gets what the access rules say, and sees nothing of others", () => {
  test.each(endpoints.flatMap(({ method, paths }) => paths.map((path) => ({ method, path }))))(
    "$method $path",
    async ({ method, path }) => {
      const problems: Record<string, string> = {};
      for (const trial of matrix.trials.filter((one) => one.endpoint.method === method && one.path === path)) {
        const problem = await matrix.problemOf(trial);
        if (problem) problems[[trial.caller.name, trial.about].filter(Boolean).join(", ")] = problem;
      }
      expect(problems).toEqual({});
    },
  );
});

/** `npm run test:tenancy` does so with every condition that there is. */
describe("a check that is gone is missed", () => {
  test.each([
    { condition: '"organization_members"."user_id"', path: "/api/v1/boards/{board_id}", by: "another owner" },
    { condition: '"tags"."organization_id"', path: "/api/tags/{tag_id}", by: "another owner" },
    {
      condition: '"agents"."board_id"',
      path: "/api/v1/agent/boards/{board_id}/agents/{agent_id}/soul",
      by: "lead of another board",
      about: "agent_id of another place",
    },
  ])("$condition in GET $path", async ({ condition, path, by, about = null }) => {
    const trial = matrix.trials.find(
      (one) => one.endpoint.method === "GET" && one.path === path && one.caller.name === by && one.about === about,
    )!;
    const stop = interceptStatements((text) =>
      weaken(
        text,
        conditionsOf(text).filter((one) => one.text.startsWith(`${condition} = $`)),
      ),
    );
    const problem = await matrix.problemOf(trial).finally(stop);
    expect(problem).toMatch(/^404 expected, got 200|^sees what is/);
    expect(await matrix.problemOf(trial)).toBeNull();
  });
});
