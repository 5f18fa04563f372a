/** Runs the lines of docs/agents.md as printed, one block after the other, against the service on loopback. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { connectionLines } from "@board/cli/connection-lines";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { hasTools, runCommand } from "../template/shell-commands.ts";
import { createWorld } from "../support/world.ts";

afterEach(cleanUpPrograms);

const root = path.resolve(import.meta.dirname, "../..");
const text = readFileSync(path.join(root, "docs/agents.md"), "utf8");
const blocksOf = (language: string) => [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].filter(([, name]) => name === language);

test.skipIf(!hasTools)("the shell lines of docs/agents.md take a board from its creation to a finished task", async () => {
  const token = "t".repeat(60);
  const world = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: token } });
  onTestFinished(() => world.close());
  const server = await serve((request) => world.app.fetch(request));
  onTestFinished(() => server.close());
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, ".data/secrets"), { recursive: true });
  writeFileSync(path.join(folder, ".data/secrets/local_auth_token"), token);
  const blocks = blocksOf("sh").map(([, , block]) => block!);
  expect(blocks).toHaveLength(5);
  const script = ["set -e", ...blocks].join("\n").replaceAll("http://127.0.0.1:8000", server.url);
  const { code, stdout, stderr } = await runCommand(folder, script);
  expect([code, stderr], stdout).toEqual([0, ""]);
  const [title, , , ...lines] = stdout.split("\n").filter((line) => line !== "");
  expect(title).toBe("Count the lamps");
  expect(stdout).toMatch(/^Free tasks: 1\. Call next_task\.$/m);
  expect(stdout).toMatch(/^{"inbox":1,/m);
  expect(stdout).toMatch(/^# Instructions/m);
  expect(lines.slice(lines.indexOf("true"))).toEqual([
    "true",
    "12 so far",
    "review",
    "review: Count the lamps",
    "14 lamps",
    "done",
    "true",
    "Polish the lamps",
    "true",
    "2",
  ]);
});

test("the lines for MCP clients equal the lines that the command line and the console show", () => {
  const connections = connectionLines({ url: "http://127.0.0.1:8000", source: { token: "$MILO" } });
  const clients = connections.filter(({ scope }) => scope);
  const expected = clients.map(({ title, scope, line, attended, unattended }) =>
    [`# ${title}, ${scope}`, line, attended, unattended].filter((text) => text !== undefined).join("\n"),
  );
  expect(blocksOf("text").map(([, , block]) => block)).toEqual([`${expected.join("\n\n")}\n`]);
});

test("every tool and file that docs/agents.md names exists", async () => {
  const { tools } = await import("@board/api/mcp/tools");
  const named = [...text.matchAll(/`(\w+_\w+)`/g)].map(([, name]) => name!);
  const known = ["task_lease_lost", ...tools.map(({ name }) => name)];
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(3);
});
