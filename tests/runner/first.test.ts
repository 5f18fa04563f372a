import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../support/program.ts";
import { createWorld, type World } from "../support/world.ts";
import { buildCommandLine, openRunnerFixture } from "./runner-fixture.ts";
import { shim } from "./shim.ts";

let world: World; let program: string;
beforeAll(async () => { program = buildCommandLine(); world = await createWorld(); });
afterAll(async () => { await world.close(); await cleanUpPrograms(); });

test("first", async () => {
  const s = shim();
  const f = await openRunnerFixture(world, { program, intercept: s.intercept });
  const id = await f.board.addTask({ title: "Count the lamps; --rm -rf $(x) ../.." });
  const dump = `${f.home}/dump.json`;
  const r = f.start([{ think: "Hm" }, { tool: { title: "Edit", kind: "edit", status: "completed", locations: [{ path: "a.txt" }] } }, { write: ["a.txt", "15\n"] }, { dump }, { cost: 0.25 }, { say: "I counted " }, { say: "15 lamps." }], ["--once", "--verbose"]);
  const e = await r.exited;
  console.log(r.stdout(), r.stderr(), e);
  console.log(JSON.stringify([...s.steps.values()], null, 1), JSON.stringify(s.described));
  console.log(await f.task(id), await f.comments(id), f.git("log", "--all", "--oneline"), f.journals());
  expect(e.code).toBe(0);
}, 60_000);
