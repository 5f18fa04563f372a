// Builds in advance what a start would otherwise build: the bundle of the programs, the packed database and the packages. `npm run
// build -- service` leaves the packages out.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { bundle, findBundled } from "./bundle.mjs";
import { nodeFolder, root } from "./node-folder.mjs";

const node = path.join(nodeFolder(), process.platform === "win32" ? "node.exe" : "node");

const failed = [];

if (findBundled("main") === null) await bundle();
run(node, [findBundled("template")]);
if (process.argv[2] !== "service")
  for (const name of listBuilds()) run("npm", ["run", "build", "--workspace", `packages/${name}`]);
if (failed.length > 0) {
  console.error(`Not built: ${failed.join("; ")}`);
  process.exitCode = 1;
}

function listBuilds() {
  return readdirSync(path.join(root, "packages")).filter((name) => {
    const { scripts = {} } = JSON.parse(readFileSync(path.join(root, "packages", name, "package.json"), "utf8"));
    return scripts.build !== undefined;
  });
}

function run(command, args) {
  const shell = process.platform === "win32" && command === "npm";
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", shell });
  if (error || status !== 0) failed.push([path.basename(command), ...args].join(" "));
}
