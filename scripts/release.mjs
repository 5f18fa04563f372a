// Makes a release: npm run release -- patch|minor|major [--dry-run]. Writes the version and the changelog, commits, tags, and packs
// the client and the package that is installed by name. It pushes nothing, so that you can still inspect and undo the release.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const PUBLISHED = ["client", "board"].map((name) => `packages/${name}`);
/** Files that contain the version of the image, the chart or the package. */
const NAMING = ["compose.yaml", "server.json", "deploy/helm/Chart.yaml", "deploy/fly.toml", "deploy/render.yaml"];
const UNRELEASED = "## [Unreleased]";
const LEVELS = ["major", "minor", "patch"];

function fail(message) {
  console.error(message);
  process.exit(1);
}

function run(command, ...args) {
  const { error, status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (error) fail(`${command} could not be started: ${error.message}`);
  if (status !== 0) fail(`"${command} ${args.join(" ")}" failed: ${(stderr || stdout).trim()}`);
  return stdout.trim();
}

const read = (file) => readFileSync(path.join(root, file), "utf8");
const readJson = (file) => JSON.parse(read(file));

/** Moves the entries under Unreleased to a section for the version. */
function release(changelog, version) {
  const start = changelog.indexOf(UNRELEASED);
  if (start < 0) fail(`CHANGELOG.md has no section "${UNRELEASED}".`);
  const body = changelog.slice(start + UNRELEASED.length);
  const end = body.indexOf("\n## ");
  const notes = (end < 0 ? body : body.slice(0, end)).trim();
  if (!/^[-*] /m.test(notes)) fail(`CHANGELOG.md has no entry under "${UNRELEASED}", so there is nothing to release.`);
  const date = new Date().toISOString().slice(0, 10);
  const rest = end < 0 ? "" : body.slice(end + 1);
  const text = `${changelog.slice(0, start)}${UNRELEASED}\n\n## [${version}] - ${date}\n\n${notes}\n\n${rest}`;
  return { notes, text: `${text.trimEnd()}\n` };
}

/** Sets the version of a package, and of the packages of this repository that it depends on. */
function setVersion(manifest, names, version) {
  if (manifest.version) manifest.version = version;
  for (const group of ["dependencies", "devDependencies", "peerDependencies"])
    for (const name of Object.keys(manifest[group] ?? {})) if (names.has(name)) manifest[group][name] = version;
}

/** Replaces the version where it is a whole tag or value: `image:0.1.0`, `"version": "0.1.0"`, `appVersion: 0.1.0`. */
const nameVersion = (text, from, to) =>
  text.replaceAll(new RegExp(`(?<=[:\\s"])${from.replaceAll(".", "\\.")}(?=["\\s])`, "g"), to);

const args = process.argv.slice(2);
const isDry = args.includes("--dry-run");
const [level, ...others] = args.filter((arg) => arg !== "--dry-run");
if (!LEVELS.includes(level) || others.length > 0) fail("Usage: npm run release -- patch|minor|major [--dry-run]");

const branch = run("git", "branch", "--show-current");
if (branch !== "main") fail(`A release is made on main; this is ${branch || "no branch"}.`);
if (run("git", "status", "--porcelain") !== "") fail("The working tree has changes. Commit or stash them first.");

const current = readJson("package.json").version;
const at = LEVELS.indexOf(level);
const version = current
  .split(".")
  .map((part, index) => (index < at ? part : index === at ? Number(part) + 1 : 0))
  .join(".");
if (!/^\d+\.\d+\.\d+$/.test(version)) fail(`The version ${current} in package.json does not have the form 1.2.3.`);
const tag = `v${version}`;
if (run("git", "tag", "--list", tag) !== "") fail(`The tag ${tag} exists already.`);

const folders = readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`);
const manifests = ["package.json", ...folders.map((folder) => `${folder}/package.json`)];
const names = new Set(manifests.map((file) => readJson(file).name));
const changelog = release(read("CHANGELOG.md"), version);
const written = [...manifests, "package-lock.json", "CHANGELOG.md", ...NAMING];

console.log(`${current} -> ${version}\n\n${changelog.notes}\n`);
if (isDry) {
  console.log(`Dry run: nothing was written. A release would change ${written.join(", ")}.`);
  for (const folder of PUBLISHED) {
    run("npm", "run", "--silent", "build", "--workspace", folder);
    console.log(run("npm", "pack", "--dry-run", "--json", `./${folder}/dist`) && `${folder} can be packed.`);
  }
  process.exit(0);
}

const store = (file, text) => writeFileSync(path.join(root, file), text);
const storeJson = (file, value) => store(file, `${JSON.stringify(value, null, 2)}\n`);
for (const file of manifests) {
  const manifest = readJson(file);
  setVersion(manifest, names, version);
  storeJson(file, manifest);
}
const lock = readJson("package-lock.json");
lock.version = version;
for (const folder of ["", ...folders]) setVersion(lock.packages[folder] ?? {}, names, version);
storeJson("package-lock.json", lock);
store("CHANGELOG.md", changelog.text);
for (const file of NAMING) store(file, nameVersion(read(file), current, version));
run("git", "add", "--", ...written);
run("git", "commit", "--message", `Release ${version}`);
run("git", "tag", "--annotate", tag, "--message", `Release ${version}`);
mkdirSync(path.join(root, "dist"), { recursive: true });
const packed = PUBLISHED.map((folder) => {
  run("npm", "run", "--silent", "build", "--workspace", folder);
  return `dist/${run("npm", "pack", "--silent", `./${folder}/dist`, "--pack-destination", "dist")}`;
});
console.log(`Committed and tagged ${tag}; the packages are ${packed.join(" and ")}. Publish the release with:\n`);
console.log(`  git push origin main ${tag}`);
console.log(
  "\nThe tag starts the workflow Release, which publishes the packages with provenance, the image and the chart. By hand:\n",
);
for (const archive of packed) console.log(`  npm publish --access public ${archive}`);
