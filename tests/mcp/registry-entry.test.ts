/**
 * The rules of the MCP registry for the parts that server.json uses. They are stricter than the schema that the file names, since a
 * field that the registry does not know is refused. `npm run test:install` judges the file by that schema.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";

const server = JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../../server.json"), "utf8"));

const text = { type: "string", minLength: 1 };
const flag = { type: "boolean" };
const url = { type: "string", format: "uri" };
/** A URL in which names in braces stand for values that the client asks for. */
const template = { type: "string", pattern: "^https?://\\S+$" };
const closed = (properties: object, required: string[]) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const listOf = (items: object) => ({ type: "array", minItems: 1, items });

const INPUT = {
  description: text,
  format: { enum: ["string", "number", "boolean", "filepath"] },
  default: text,
  placeholder: text,
  value: text,
  isRequired: flag,
  isSecret: flag,
};
const named = closed({ name: text, ...INPUT }, ["name"]);
const transport = (more: object = {}) =>
  closed({ type: { const: "streamable-http" }, url: template, headers: listOf(named), ...more }, ["type", "url"]);
const entry = closed(
  {
    $schema: { ...url, pattern: "/schemas/\\d{4}-\\d\\d-\\d\\d/server\\.schema\\.json$" },
    name: { type: "string", maxLength: 200, pattern: "^[a-zA-Z0-9.-]+/[\\w.-]+$" },
    title: { ...text, maxLength: 100 },
    description: { ...text, maxLength: 100 },
    version: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+(-[\\w.]+)?$" },
    repository: closed({ url, source: { const: "github" } }, ["url", "source"]),
    packages: listOf(
      closed(
        {
          registryType: { const: "npm" },
          identifier: text,
          version: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+(-[\\w.]+)?$" },
          runtimeHint: { const: "npx" },
          packageArguments: listOf(closed({ type: { const: "positional" }, ...INPUT }, ["type", "value"])),
          environmentVariables: listOf(named),
          transport: transport(),
        },
        ["registryType", "identifier", "version", "transport"],
      ),
    ),
    remotes: listOf(transport({ variables: { type: "object", additionalProperties: closed(INPUT, []) } })),
  },
  ["$schema", "name", "description", "version", "packages", "remotes"],
);

const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const validate = ajv.compile(entry);
const listProblems = (value: unknown): string[] =>
  validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);

test("server.json keeps the rules of the MCP registry", () => {
  expect(listProblems(server)).toEqual([]);
});

test.each<[string, (broken: typeof server) => unknown]>([
  ["a description that is too long", (broken) => (broken.description = "x".repeat(101))],
  ["a name without its owner", (broken) => (broken.name = "board-coordination")],
  ["a range of versions", (broken) => (broken.packages[0].version = "^0.1.0")],
  ["no transport of the package", (broken) => delete broken.packages[0].transport],
  ["an argument without a value", (broken) => delete broken.packages[0].packageArguments[0].value],
  ["an unknown format of a variable", (broken) => (broken.packages[0].environmentVariables[0].format = "folder")],
  ["a header without a name", (broken) => delete broken.remotes[0].headers[0].name],
  ["a remote address without its scheme", (broken) => (broken.remotes[0].url = "{host}/mcp")],
  ["a misspelt field", (broken) => (broken.remotes[0].headers[0].is_secret = true)],
])("the rules of the MCP registry refuse %s", (_what, destroy) => {
  const broken = structuredClone(server);
  destroy(broken);
  expect(listProblems(broken)).toHaveLength(1);
});

test("every name in braces in a remote address of server.json is a variable that the client asks for", () => {
  for (const { url, variables } of server.remotes as { url: string; variables: object }[]) {
    const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    expect(Object.keys(variables)).toEqual(names);
  }
});
