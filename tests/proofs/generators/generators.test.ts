/** Clients that common generators make from the OpenAPI documents compile in TypeScript's strict mode. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { endpoints } from "@board/api/groups";
import { buildOpenApiDocument } from "@board/api/openapi/openapi";
import { buildRoleDocument } from "@board/api/openapi/role-document";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
/** Below the installed packages, so that generated code finds them. */
const FOLDER = path.join(import.meta.dirname, "node_modules/.generated");
const TSC = path.join(import.meta.dirname, "node_modules/typescript/bin/tsc");
const ADDRESSES = { base_url: "https://board.example", stream_url: null };

const GENERATORS = ["openapi-typescript", "hey-api", "orval"] as const;
const DOCUMENTS = {
  whole: () => buildOpenApiDocument(endpoints, ADDRESSES),
  worker: () => buildRoleDocument(endpoints, ADDRESSES, "agent-worker"),
};

beforeAll(() => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, build] of Object.entries(DOCUMENTS)) writeFileSync(documentFile(name), JSON.stringify(build()));
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const documentFile = (name: string) => path.join(FOLDER, `${name}.json`);

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "dom", "dom.iterable"],
    types: [],
  },
  include: ["**/*.ts"],
};

const cases = GENERATORS.flatMap((generator) => Object.keys(DOCUMENTS).map((name) => [generator, name] as const));

test.each(cases)("the client that %s makes from the %s document compiles", async (generator, name) => {
  const folder = path.join(FOLDER, `${generator}-${name}`);
  mkdirSync(folder);
  await run(process.execPath, [path.join(import.meta.dirname, "generate.mjs"), generator, documentFile(name), folder]);
  expect(readdirSync(folder).filter((file) => file.endsWith(".ts")).length).toBeGreaterThan(0);
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  const compiled = await run(process.execPath, [TSC, "-p", folder]).catch((error: { stdout: string }) => error);
  expect(compiled.stdout).toBe("");
});
