/** Runs the lines of docs/cli.md and README.md as printed, one block after the other, against the service on loopback. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { blocksOf } from "../support/packages.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { hasTools, runCommand } from "../template/shell-commands.ts";
import { createWorld } from "../support/world.ts";

afterEach(cleanUpPrograms);

/** Opens a service in local mode, and a folder in which the shell finds its token and the program. */
async function openShell() {
  const token = "t".repeat(60);
  const world = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: token } });
  onTestFinished(() => world.close());
  const server = await serve((request) => world.app.fetch(request));
  onTestFinished(() => server.close());
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, ".data/secrets"), { recursive: true });
  writeFileSync(path.join(folder, ".data/secrets/local_auth_token"), token);
  const { node, program } = await openCommandLine();
  // In a clone of the repository the program is not in PATH, and only `npx` finds it.
  writeFileSync(path.join(folder, "npx"), `#!/bin/sh\n[ "$1" = board ] && shift && exec ${node} ${program} "$@"\n`);
  chmodSync(path.join(folder, "npx"), 0o755);
  const others = process.env["PATH"]!.split(path.delimiter).filter((name) => !name.endsWith("node_modules/.bin"));
  const head = ["set -e", `PATH=${[folder, ...others].join(path.delimiter)}`, `BOARD_URL=${server.url}; export BOARD_URL`];
  return { token, server, run: (lines: string[]) => runCommand(folder, [...head, ...lines].join("\n")) };
}

test("the lines of README.md make a board with a task and connect an agent", async () => {
  const { token, run } = await openShell();
  const blocks = blocksOf("README.md", "sh");
  expect(blocks).toHaveLength(1);
  const { code, stdout, stderr } = await run(blocks);
  expect([code, stderr], stdout).toEqual([0, ""]);
  for (const text of ["Board shop is made.", "Agent Milo is made.", "claude mcp add"]) expect(stdout).toContain(text);
  expect(stdout).not.toContain(token);
});

test.skipIf(!hasTools)(
  "the lines of docs/cli.md take a board from its creation to a finished task and a signed webhook",
  async () => {
    const { token, server, run } = await openShell();
    const blocks = blocksOf("docs/cli.md", "sh");
    expect(blocks).toHaveLength(7);
    // docs/cli.md has no command that creates a webhook, so the test creates the one that the last block uses.
    const webhook = `curl -sf -H "Authorization: Bearer ${token}" ${server.url}/api/v1/boards/$(board boards --json | jq -r '.[0].id')/webhooks -d '{"description":"Test"}' > /dev/null`;
    const lines = [...blocks.slice(0, -1), "unset BOARD_TOKEN_FILE", webhook, blocks.at(-1)!];
    const { code, stdout, stderr } = await run(lines);
    expect([code, stderr], stdout).toEqual([0, ""]);
    for (const text of [
      `Signed in to ${server.url} as a person.`,
      "ok     token     of a person",
      "Board shop is made.",
      "Do not forget the cellar",
      "No approval waits for a decision.",
      "Agent Milo is made.",
      "# Instructions",
      "Free tasks: 1.",
      "lease until:",
      "The cellar has two lamps",
    ])
      expect(stdout).toContain(text);
    expect(stdout).toMatch(/^review: .*^done: /ms);
    expect(stdout.match(/^Accepted as payload /gm)).toHaveLength(2);
    expect(stdout).not.toContain(token);
  },
  240_000,
);
