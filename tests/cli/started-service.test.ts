import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { OLDEST_NODE, oldestNode } from "../support/packages.ts";
import { cleanUpPrograms, dataFolder, startProgram, temporaryFolder } from "../support/program.ts";
import { runCommand } from "../template/shell-commands.ts";

afterEach(cleanUpPrograms);

test("the line that npm start prints signs the command line in, at any port", async () => {
  const data = path.join(dataFolder(), "it's here");
  mkdirSync(data);
  const service = startProgram("main", { DATA_DIR: data, PORT: "0" });
  const [, line] = await service.waitForOutput(/^  shell {6}(.+)$/m);
  const folder = temporaryFolder();
  const { node, program } = await openCommandLine();
  // Simulates `npx` in a clone of the repository, which finds the program there.
  writeFileSync(path.join(folder, "npx"), `#!/bin/sh\nshift\nexec ${node} ${program} "$@"\n`);
  chmodSync(path.join(folder, "npx"), 0o755);
  const run = (lines: string) => runCommand(folder, `PATH=${folder}:$PATH\nexport DATA_DIR="${data}"\n${lines}`);
  expect(await run(line!)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Signed in to http:.* as a person\.\n$/) });
  // Without an address on the command line, the program reads it from the data folder.
  const [short] = line!.match(/<.*$/)!;
  expect(await run(`npx board logout && npx board login ${short}`)).toMatchObject({ code: 0, stderr: "" });
});

test("npm start works on the oldest Node that the README names, because it runs the Node from npm", async () => {
  const launcher = path.resolve(import.meta.dirname, "../../scripts/start.mjs");
  const service = await promisify(execFile)(await oldestNode(), [launcher, "main", "--help"]);
  expect(service.stdout).toContain("DATA_DIR");
  const readme = readFileSync(path.resolve(import.meta.dirname, "../../README.md"), "utf8");
  expect(readme).toContain(`Node ${OLDEST_NODE.replace(/\.\d+$/, "")} works`);
});
