/** Loads all operations in this process and prints their number, and which of their schemas have created their fields. */
import { globSync } from "node:fs";
import path from "node:path";
import type { Endpoint } from "@board/api/endpoint";
import * as z from "zod";
import { root } from "./bundle.ts";

/**
 * Checks whether a schema's fields exist. If they do, the getter of `shape` is gone, or it is Zod's own getter, which stores them
 * in `raw`.
 */
function isMade(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodArray) return isMade(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return false;
  const getter: unknown = Reflect.get(Object.getOwnPropertyDescriptor(schema.def, "shape")!, "get");
  return typeof getter !== "function" || "raw" in getter;
}

// The module of the MCP endpoint is left out, because declaring its tools creates the fields of their schemas.
const files = globSync("packages/api/src/routes/**/*.ts", { cwd: root, exclude: (name) => name.endsWith("/mcp.ts") });
const modules = await Promise.all(files.map((file) => import(path.join(root, file)) as Promise<Record<string, unknown>>));
const operations = modules
  .flatMap((module) => Object.values(module))
  .flatMap((list) => (Array.isArray(list) ? (list as Endpoint[]) : []))
  .filter((item) => typeof item === "object" && "spec" in item);
const made = operations.flatMap(({ method, paths, spec, params }) =>
  Object.entries({ query: spec.query, body: spec.body, returns: spec.returns, accepted: spec.accepted, params })
    .filter(([, schema]) => schema && isMade(schema))
    .map(([name]) => `${method} ${paths[0]}: ${name}`),
);
process.stdout.write(JSON.stringify({ operations: operations.length, made }));
