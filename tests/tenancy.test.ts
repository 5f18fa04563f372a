import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "@board/api/groups";
import { openMatrix, type Matrix } from "./support/access-matrix.ts";

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
        if (problem) problems[trial.caller.name] = problem;
      }
      expect(problems).toEqual({});
    },
  );
});
