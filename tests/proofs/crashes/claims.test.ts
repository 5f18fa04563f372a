import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postgres, startPostgres } from "../../support/postgres.ts";
import { runClaims } from "./claims.ts";
import { createEmptyDatabase } from "./snapshot.ts";

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await createEmptyDatabase(postgres);
});
afterAll(() => postgres.stop());

test("while 32 agents take the 1,000 tasks of a board at the same time, each task is handed out once", async ({ task }) => {
  const figures = await runClaims(postgres, { tasks: 1_000, agents: 32 });
  task.meta.summary = figures;
  expect(figures).toMatchObject({ claims: 1_000, deadlocks: 0 });
});
