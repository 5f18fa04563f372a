import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { decideByPolicy, Policy } from "../../packages/runner/src/policy.ts";
import { temporaryFolder } from "../support/program.ts";

test("the published schema of the policy equals the schema in the code of the runner", () => {
  const file = path.resolve(import.meta.dirname, "../../docs/runner-policy.schema.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(z.toJSONSchema(Policy, { io: "input" }));
});

test.each([
  ["git status", "git status --short", "allow"],
  ["git status", "git statuses", "ask"],
  ["git status", "git status && rm -rf ~", "ask"],
  ["git status", "git status $(id)", "ask"],
  ["npm", "  npm   test ", "allow"],
])("a rule that allows %j decides %j as %s", (command, line, decision) => {
  const request = { tool_kind: "execute", title: "", command: line, paths: [] };
  expect(decideByPolicy({ rules: [{ command, decision: "allow" }] }, request, temporaryFolder())).toBe(decision);
});
