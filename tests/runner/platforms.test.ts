import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { findProgram } from "../../packages/runner/src/agent-command.ts";
import { identifyProcess, isSameProcessAlive, readStart } from "../../packages/runner/src/process-identity.ts";
import { toServiceUnit } from "../../packages/runner/src/service-unit.ts";
import { runsFolder } from "../../packages/runner/src/state-folder.ts";
import { toShellCommand } from "../../packages/runner/src/windows-script.ts";
import { temporaryFolder } from "../support/program.ts";

const UNIT = {
  name: "My <machine>",
  command: ["/usr/bin/node", "/opt/board.js", "run", "claude", "--tag", "a & b"],
  folder: "/home/ann/shop",
  environment: { HOME: "/home/ann", PATH: "/usr/bin", BOARD_TOKEN: "secret-token", ANTHROPIC_API_KEY: "secret-key" },
};

test("on Linux a dollar sign, which systemd would expand, is doubled in an argument but not in a variable", () => {
  const environment = { HOME: "/home/ann", BOARD_URL: "https://board.example/$1" };
  const command = ["/usr/bin/node", "/opt/board.js", "--tag", "$HOME"];
  const { text } = toServiceUnit({ ...UNIT, command, environment, platform: "linux" });
  expect(text).toContain('ExecStart="/usr/bin/node" "/opt/board.js" "--tag" "$$HOME"\n');
  expect(text).toContain('Environment="BOARD_URL=https://board.example/$1"\n');
});

test("on macOS the service is a launchd agent of the person, without a token", () => {
  const { file, text, start } = toServiceUnit({ ...UNIT, platform: "darwin" });
  expect(file).toBe("/home/ann/Library/LaunchAgents/board.run.my-machine.plist");
  expect(text).toContain("<string>run</string><string>claude</string><string>--tag</string><string>a &amp; b</string>");
  expect(text).toContain("<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>");
  expect(text).not.toContain("secret");
  expect(start).toBe("launchctl load -w '/home/ann/Library/LaunchAgents/board.run.my-machine.plist'");
});

test("on Windows no service is written, and the error names the task scheduler", () => {
  expect(() => toServiceUnit({ ...UNIT, platform: "win32" })).toThrow("task scheduler");
});

test.each([
  ["linux", { HOME: "/home/ann" }, "/home/ann/.local/state/board/runs"],
  ["linux", { HOME: "/home/ann", XDG_STATE_HOME: "/state" }, "/state/board/runs"],
  ["darwin", { HOME: "/Users/ann" }, "/Users/ann/.local/state/board/runs"],
  ["win32", { LOCALAPPDATA: "/ann/Local", XDG_STATE_HOME: "/state" }, "/ann/Local/board/runs"],
] as const)("on %s with %j journals are in %s", (platform, environment, folder) => {
  expect(runsFolder(environment, platform)).toBe(folder);
});

test("on Windows a program is found by its extension, and a script for another system in the same folder is ignored", () => {
  const folder = temporaryFolder();
  for (const name of ["npx", "npx.CMD", "tool.EXE"]) {
    writeFileSync(path.join(folder, name), "");
    chmodSync(path.join(folder, name), 0o755);
  }
  const environment = { PATH: folder, PATHEXT: ".EXE;.CMD" };
  const find = (name: string, platform: NodeJS.Platform) => findProgram(name, environment, platform);
  expect(find("npx", "win32")).toBe(path.join(folder, "npx.CMD"));
  expect(find("tool.EXE", "win32")).toBe(path.join(folder, "tool.EXE"));
  expect(find("npx", "linux")).toBe(path.join(folder, "npx"));
});

test("the shell of Windows starts a script in a folder with spaces, and gets no argument that it would interpret", () => {
  const npx = "C:\\Program Files\\nodejs\\npx.cmd";
  const words = ["--yes", "@scope/agent-acp@1.2.3", "--name", "my agent"];
  expect(toShellCommand(npx, words, { ComSpec: "C:\\Windows\\cmd.exe" })).toEqual({
    file: "C:\\Windows\\cmd.exe",
    args: ["/d", "/s", "/c", `""${npx}" --yes @scope/agent-acp@1.2.3 --name "my agent""`],
  });
  for (const unsafe of ["a & calc", "%PATH%", 'a"b', "a\nb", "!x!", "a^b"])
    expect(() => toShellCommand(npx, [unsafe], {})).toThrow("Name the program itself.");
});

test.runIf(process.platform !== "win32")("a process is recognized by its start time, as the system or ps reports it", () => {
  for (const platform of [process.platform, "darwin"] as const) {
    const started = readStart(process.ppid, platform);
    expect(started).toMatch(/\d/);
    expect(readStart(process.ppid, platform)).toBe(started);
    expect(readStart(2 ** 22, platform)).toBeNull();
  }
  const own = identifyProcess(process.pid);
  expect(isSameProcessAlive(own)).toBe(true);
  expect(isSameProcessAlive({ ...own, started: "another time" })).toBe(false);
});
