import { afterAll, beforeAll, expect, test } from "vitest";
import { killRunners } from "../proofs/runner/kills.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { createWorld, type World } from "../support/world.ts";
import { buildCommandLine } from "./runner-fixture.ts";

let world: World;
let program: string;

beforeAll(async () => {
  program = buildCommandLine();
  world = await createWorld();
});
afterAll(async () => {
  await world.close();
  await cleanUpPrograms();
});

test("after a kill of the runner at any point, its next start completes the task once, with each comment and step once", async () => {
  const { problems, points } = await killRunners(world, program, 6, 2);
  expect(problems).toEqual([]);
  expect(points.size).toBeGreaterThan(3);
});
