import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "@board/api/groups";
import { tools } from "@board/api/mcp/tools";
import { type AccessCase, openAccessMatrix, type AccessMatrix } from "./tenancy/access-matrix.ts";
import { interceptStatements } from "./tenancy/intercept-statements.ts";
import { findOwnerConditions, isSearch, removeConditions } from "./tenancy/mutate-sql.ts";
import { isSearchable } from "./tenancy/search-cases.ts";

let matrix: AccessMatrix;
/** Long, because the set-up stores two organizations with rows of every kind, which takes a while on a busy machine. */
const SETUP_MS = 240_000;
beforeAll(async () => {
  matrix = await openAccessMatrix();
}, SETUP_MS);
afterAll(() => matrix.close());

/** Returns the problems by the caller and the variation of their requests. */
async function listProblems(isTried: (trial: AccessCase) => boolean): Promise<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const trial of matrix.cases.filter(isTried)) {
    const problem = await matrix.findProblem(trial);
    if (problem) problems[[trial.caller.name, trial.variation].filter(Boolean).join(", ")] = problem;
  }
  return problems;
}

describe("the access matrix", () => {
  test.each(endpoints.flatMap(({ method, paths }) => paths.map((path) => ({ method, path }))))(
    "$method $path gives every caller the expected status and no data of others",
    async ({ method, path }) => {
      const isTried = ({ endpoint, path: tried, tool, search }: AccessCase) =>
        endpoint.method === method && tried === path && !tool && !search;
      expect(await listProblems(isTried)).toEqual({});
    },
  );

  test.each(tools.map(({ name }) => ({ name })))(
    "the tool $name gives every caller the expected status and no data of other callers",
    async ({ name }) => {
      expect(await listProblems(({ tool }) => tool === name)).toEqual({});
    },
  );

  test.each(endpoints.filter(isSearchable).map(({ method, paths }) => ({ method, path: paths[0]! })))(
    "a search of $method $path finds and counts the caller's own items, and no items of other organizations",
    async ({ method, path }) => {
      const isTried = ({ endpoint, path: tried, search }: AccessCase) =>
        endpoint.method === method && tried === path && search !== undefined;
      expect(await listProblems(isTried)).toEqual({});
    },
  );
});

/** `npm run test:tenancy` removes every condition. */
describe("the access matrix notices a removed condition", () => {
  test.each([
    { condition: '"board_member"."user_id" = "users"."id"', path: "/api/v1/boards/{board_id}", by: "another owner" },
    {
      condition: '"board_member"."organization_id" = "boards"."organization_id"',
      path: "/api/v1/boards/{board_id}",
      by: "another owner",
    },
    { condition: '"tags"."organization_id" = $', path: "/api/tags/{tag_id}", by: "another owner" },
    {
      condition: '"agents"."board_id" = $',
      path: "/api/v1/agent/boards/{board_id}/agents/{agent_id}/soul",
      by: "lead of another board",
      about: "agent_id of another place",
    },
    {
      condition: '"tasks"."board_id" = $',
      path: "/api/v1/boards/{board_id}/tasks",
      by: "member who writes to the board",
      about: "search for secluded",
    },
  ])("removing the condition $condition from GET $path is detected", async ({ condition, path, by, about = null }) => {
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
        // A search also compares the owner, because digits of the owner's id precede each word, so its condition is removed too.
        findOwnerConditions(text).filter((owner) => owner.text.startsWith(condition) || isSearch(owner)),
      ),
    );
    const problem = await matrix.findProblem(trial, false).finally(stop);
    expect(problem).toMatch(/^404 expected, got 200|^sees what is/);
    expect(await matrix.findProblem(trial, false)).toBeNull();
  });
});
