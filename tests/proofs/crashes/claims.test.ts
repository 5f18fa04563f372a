import { expect, test } from "vitest";
import { runClaims } from "./claims.ts";

test("while 32 agents take the 1,000 tasks of a board at the same time, each task is handed out once", async ({ task }) => {
  const figures = await runClaims({ tasks: 1_000, agents: 32 });
  task.meta.summary = figures;
  expect(figures).toMatchObject({ claims: 1_000, deadlocks: 0 });
});
