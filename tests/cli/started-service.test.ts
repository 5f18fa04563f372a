import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms, dataFolder, startProgram, temporaryFolder } from "../support/program.ts";
import { runCommand } from "../template/shell-commands.ts";

afterEach(cleanUpPrograms);

test("the line that npm start prints signs the command line in, at whatever port", async () => {
  const data = path.join(dataFolder(), "it's here");
  mkdirSync(data);
  const service = startProgram("main", { DATA_DIR: data, PORT: "0" });
  const [, line] = await service.waitForOutput(/^  shell {6}(.+)$/m);
  const folder = temporaryFolder();
  const { node, program } = await openCommandLine();
  // `npx` finds the program of a clone.
  writeFileSync(path.join(folder, "npx"), `#!/bin/sh\nshift\nexec ${node} ${program} "$@"\n`);
  chmodSync(path.join(folder, "npx"), 0o755);
  const run = (lines: string) => runCommand(folder, `PATH=${folder}:$PATH\nexport DATA_DIR="${data}"\n${lines}`);
  expect(await run(line!)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Signed in to http:.* as a person\.\n$/) });
  // Without the address, the folder tells it.
  const [short] = line!.match(/<.*$/)!;
  expect(await run(`npx board logout && npx board login ${short}`)).toMatchObject({ code: 0, stderr: "" });
}, 120_000);
