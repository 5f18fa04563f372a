import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "@board/api/groups";
import { openAccessMatrix, type AccessMatrix } from "./tenancy/access-matrix.ts";
import { findOwnerConditions, interceptStatements, removeConditions } from "./tenancy/mutate-sql.ts";

let matrix: AccessMatrix;
beforeAll(async () => {
  matrix = await openAccessMatrix();
});
afterAll(() => matrix.close());

describe("the access matrix", () => {
  test.each(endpoints.flatMap(({ method, paths }) => paths.map((path) => ({ method, path }))))(
    "$method $path gives every caller the expected status and no data of others",
    async ({ method, path }) => {
      const problems: Record<string, string> = {};
      for (const trial of matrix.cases.filter((candidate) => candidate.endpoint.method === method && candidate.path === path)) {
        const problem = await matrix.findProblem(trial);
        if (problem) problems[[trial.caller.name, trial.variation].filter(Boolean).join(", ")] = problem;
      }
      expect(problems).toEqual({});
    },
  );
});

/** `npm run test:tenancy` removes every condition. */
describe("the access matrix without a condition", () => {
  test.each([
    { condition: '"organization_members"."user_id"', path: "/api/v1/boards/{board_id}", by: "another owner" },
    { condition: '"tags"."organization_id"', path: "/api/tags/{tag_id}", by: "another owner" },
    {
      condition: '"agents"."board_id"',
      path: "/api/v1/agent/boards/{board_id}/agents/{agent_id}/soul",
      by: "lead of another board",
      about: "agent_id of another place",
    },
  ])("removing the condition on $condition from GET $path is detected", async ({ condition, path, by, about = null }) => {
    const trial = matrix.cases.find(
      (candidate) =>
        candidate.endpoint.method === "GET" &&
        candidate.path === path &&
        candidate.caller.name === by &&
        candidate.variation === about,
    )!;
    const stop = interceptStatements((text) =>
      removeConditions(
        text,
        findOwnerConditions(text).filter((owner) => owner.text.startsWith(`${condition} = $`)),
      ),
    );
    const problem = await matrix.findProblem(trial).finally(stop);
    expect(problem).toMatch(/^404 expected, got 200|^sees what is/);
    expect(await matrix.findProblem(trial)).toBeNull();
  });
});
