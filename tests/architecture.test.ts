import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const files = globSync(["packages/*/src/**/*.ts", "infra/*.ts"], { cwd: root }).map((file) => file.replaceAll("\\", "/"));

interface Import {
  file: string;
  /** A package, or a file from the project's root for a relative import. */
  target: string;
}

const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/(?:from|import)\s*\(?\s*"([^"\s]+)"/g)].map((match) => {
    const specifier = match[1]!;
    const target = specifier.startsWith(".")
      ? path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier))
      : specifier;
    return { file, target };
  }),
);
const packageOf = (file: string) => (file.startsWith("infra/") ? "infra" : file.split("/")[1]!);
const under = (...folders: string[]) => imports.filter(({ file }) => folders.some((folder) => file.startsWith(folder)));
const offenders = (list: Import[], bad: (one: Import) => boolean) =>
  list.filter(bad).map(({ file, target }) => `${file} -> ${target}`);

/** Who may import whom. */
const ALLOWED: Record<string, RegExp> = {
  core: /^(packages\/core\/|migrations\/|node:|drizzle-orm|zod$|ws$|pg$|@neondatabase\/serverless$|@electric-sql\/pglite$|re2js$|modern-tar$|yaml$)/,
  api: /^(packages\/api\/|node:|@board\/core\/|hono|@hono\/zod-validator$|zod$|zod-openapi$|jose$|pino$)/,
  functions:
    /^(packages\/functions\/|node:|@board\/(core|api)\/|hono\/aws-lambda$|zod$|@aws-sdk\/|@aws-lambda-powertools\/metrics$|aws-lambda$)/,
  client: /^(packages\/client\/|openapi-fetch$|openapi-typescript$)/,
  local:
    /^(packages\/local\/|node:|@board\/(core|api|client)\/|@board\/functions\/(manifest|event-bus|environment|queue-state)$|@hono\/node-server|croner$|ws$|zod$)/,
  infra: /^(infra\/|packages\/functions\/src\/manifest\.ts$)/,
};

test("functions and local build on api, api on core, the client on nothing of them, infra reads the manifest alone", () => {
  expect(offenders(imports, ({ file, target }) => !ALLOWED[packageOf(file)]!.test(target))).toEqual([]);
});

test("whoever uses the client loads openapi-fetch and nothing else", () => {
  const used = under("packages/client/").filter(({ file }) => file !== "packages/client/src/generate.ts");
  expect(offenders(used, ({ target }) => !/^packages\/client\/src\/(?!generate)|^openapi-fetch$/.test(target))).toEqual([]);
});

test("the manifest imports nothing, so that it loads anywhere", () => {
  expect(under("packages/functions/src/manifest.ts")).toEqual([]);
});

test("a table file knows columns and other tables only", () => {
  const tables = imports.filter(({ file }) => file.endsWith(".sql.ts"));
  expect(offenders(tables, ({ target }) => !/^drizzle-orm|\.sql\.ts$|core\/src\/db\/columns\.ts$/.test(target))).toEqual([]);
});

test("each database driver is opened by an edge, never by the domain", () => {
  const drivers = /core\/(src\/)?db\/(neon|postgres|pglite)(\.ts)?$/;
  expect(offenders(under("packages/core", "packages/api"), ({ target }) => drivers.test(target))).toEqual([]);
});

test("only the edges read the environment", () => {
  const reading = files.filter((file) => /process\.env/.test(readFileSync(path.join(root, file), "utf8"))).map(packageOf);
  expect(new Set(reading)).toEqual(new Set(["functions", "infra", "local"]));
});

test("zod is imported whole, which bundlers can shake", () => {
  const bad = files.filter((file) => /import \{[^}]*\bz\b[^}]*\} from "zod"/.test(readFileSync(path.join(root, file), "utf8")));
  expect(bad).toEqual([]);
});

test("a table is written by its own noun only", () => {
  // The noun of a table is the folder of its table file; db/operations.sql.ts belongs to rate.ts and to gateway/device-key.ts.
  const owners = new Map<string, string>();
  for (const file of files.filter((one) => one.endsWith(".sql.ts")))
    for (const match of readFileSync(path.join(root, file), "utf8").matchAll(/export const (\w+) = pgTable/g))
      owners.set(match[1]!, path.posix.dirname(file));
  const shared = ["rate_counters", "service_keys", "jobs"];
  const bad = files.flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(/\.(?:insert|update|delete)\((\w+)\)/g)]
      .map((match) => match[1]!)
      .filter((table) => owners.has(table) && !shared.includes(table) && owners.get(table) !== path.posix.dirname(file))
      .map((table) => `${file} writes ${table}`),
  );
  expect(bad).toEqual([]);
});

test("modules of the domain do not import each other in circles", () => {
  const edges = new Map<string, string[]>();
  for (const { file, target } of imports.filter(
    (one) => packageOf(one.file) === "core" && one.target.startsWith("packages/core"),
  )) {
    // Type-only imports vanish when the code runs.
    const text = readFileSync(path.join(root, file), "utf8");
    const typeOnly = new RegExp(`import type [^;]*"[^"]*${path.posix.basename(target).replace(".", "\\.")}"`).test(text);
    if (!typeOnly && !file.endsWith(".sql.ts")) edges.set(file, [...(edges.get(file) ?? []), target]);
  }
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
    if (trail.includes(file) || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  expect(circles).toEqual([]);
});
