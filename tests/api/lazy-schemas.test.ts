import { globSync } from "node:fs";
import path from "node:path";
import type { Endpoint } from "@board/api/endpoint";
import { lazyObject } from "@board/core/wire";
import { expect, test } from "vitest";
import * as z from "zod";
import { root } from "../support/bundle.ts";

/** Whether the fields of an object exist: the getter of its definition is gone, or is Zod's own, which has them as `raw`. */
function isMade(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodArray) return isMade(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return false;
  const getter: unknown = Reflect.get(Object.getOwnPropertyDescriptor(schema.def, "shape")!, "get");
  return typeof getter !== "function" || "raw" in getter;
}

test("the fields of a lazy object are made on its first use, once for all of its variants", () => {
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

test("loading the operations makes no fields of their inputs and answers", async () => {
  // The tools of MCP list their schemas when they are declared.
  const files = globSync("packages/api/src/routes/**/*.ts", { cwd: root, exclude: (name) => name.endsWith("/mcp.ts") });
  const modules = await Promise.all(files.map((file) => import(path.join(root, file)) as Promise<Record<string, unknown>>));
  const operations = modules
    .flatMap((module) => Object.values(module))
    .flatMap((list) => (Array.isArray(list) ? (list as Endpoint[]) : []))
    .filter((item) => typeof item === "object" && "spec" in item);
  expect(operations.length).toBeGreaterThan(100);
  const made = operations.flatMap(({ method, paths, spec, params }) =>
    Object.entries({ query: spec.query, body: spec.body, returns: spec.returns, accepted: spec.accepted, params })
      .filter(([, schema]) => schema && isMade(schema))
      .map(([name]) => `${method} ${paths[0]}: ${name}`),
  );
  expect(made).toEqual([]);
});
