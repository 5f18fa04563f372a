import { execFileSync } from "node:child_process";
import path from "node:path";
import { lazyObject } from "@board/core/values/wire";
import { expect, test } from "vitest";
import * as z from "zod";

test("the fields of a lazy object are created on its first use, once for all of its variants", () => {
  let made = 0;
  const Point = lazyObject(() => {
    made += 1;
    return { x: z.int(), y: z.int().default(0) };
  });
  const Documented = Point.meta({ id: "Point" });
  const Checked = Point.refine(({ x }) => x > 0);
  expect(made).toBe(0);
  expect(Documented.parse({ x: 1 })).toEqual({ x: 1, y: 0 });
  expect(Checked.safeParse({ x: -1 }).success).toBe(false);
  expect(Documented.shape).toBe(Checked.shape);
  expect(made).toBe(1);
});

// Runs in another process, because earlier tests in the same worker have already used the schemas.
test("loading the operations does not yet create the fields of their inputs and answers", () => {
  const printed = execFileSync(process.execPath, [path.join(import.meta.dirname, "../support/made-schemas.ts")], {
    encoding: "utf8",
  });
  const { operations, made } = JSON.parse(printed) as { operations: number; made: string[] };
  expect(operations).toBeGreaterThan(100);
  expect(made).toEqual([]);
});
