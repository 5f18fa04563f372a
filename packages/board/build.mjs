// Builds the published package, which bundles the service, the console and the command line, into dist or into the folder in the
// argument.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { build } from "esbuild";
import { buildPrograms, keepAddresses, REQUIRE } from "../../scripts/bundle.mjs";
import { bundlePackage, licensesOf } from "../../scripts/bundle-package.mjs";
import { nodeFolder, root } from "../../scripts/node-folder.mjs";
import { commandLine } from "../cli/bundle-options.mjs";
import { MCP_NAME, NAME, OLDEST_NODE, REPOSITORY } from "./name.mjs";

const folder = import.meta.dirname;
const TARGET = `node${OLDEST_NODE.join(".")}`;
const PROGRAMS = ["main", "doctor", "jobs", "migrate", "accounts-migrate"];
/**
 * The files of Swagger UI that the reference at /docs loads. They are copied, because their package has 12 MB and runs a script
 * when it is installed.
 */
const REFERENCE = ["swagger-ui.css", "swagger-ui-bundle.js"];

const readJson = (...names) => JSON.parse(readFileSync(path.join(root, ...names), "utf8"));
const { dependencies } = readJson("packages/core/package.json");
const { version } = readJson("packages/board/package.json");
const listFiles = (from, extension) => readdirSync(from).filter((name) => name.endsWith(extension));
const define = { PACKAGE: JSON.stringify(NAME) };
const node = path.join(nodeFolder(), process.platform === "win32" ? "node.exe" : "node");

const entry = {
  name: NAME,
  mcpName: MCP_NAME,
  repository: { type: "git", url: `git+${REPOSITORY}.git` },
  engines: { node: `>=${OLDEST_NODE.join(".")}` },
  bin: { board: "board.js" },
  // The database loads its WebAssembly from files of its package, and Neon's driver is loaded only for Neon.
  dependencies: Object.fromEntries(
    ["@electric-sql/pglite", "@neondatabase/serverless"].map((name) => [name, dependencies[name]]),
  ),
};

await bundlePackage(
  folder,
  path.resolve(process.argv[2] ?? path.join(folder, "dist")),
  entry,
  {
    entryPoints: [{ in: "src/board.mjs", out: "board" }],
    platform: "node",
    target: TARGET,
    banner: { js: "#!/usr/bin/env node" },
  },
  addParts,
);

async function addParts(staging) {
  const service = await buildPrograms(PROGRAMS, {
    outdir: path.join(staging, "service"),
    target: TARGET,
    plugins: [keepAddresses("../")],
    // Files of other packages are copied to folders with the names of these packages.
    define: { ...define, "import.meta.resolve": "resolveCopied" },
    banner: { js: `${REQUIRE}const resolveCopied = (name) => new URL("../" + name, import.meta.url).href;` },
  });
  const cli = path.join(root, "packages/cli");
  const { metafile } = await build({
    ...commandLine(version, define),
    absWorkingDir: cli,
    bundle: true,
    format: "esm",
    mainFields: ["module", "main"],
    metafile: true,
    logLevel: "error",
    outdir: path.join(staging, "cli"),
  });
  const swagger = path.dirname(
    createRequire(path.join(root, "packages/api/package.json")).resolve("swagger-ui-dist/package.json"),
  );
  copy(swagger, [...REFERENCE, "LICENSE", "NOTICE"], path.join(staging, "swagger-ui-dist"));
  // The health check is a file without imports, so that it starts fast in a container.
  cpSync(path.join(root, "scripts/check-health.mjs"), path.join(staging, "service/health.mjs"));
  copyMigrations(staging);
  addDatabase(staging);
  addConsole(staging);
  writeFileSync(
    path.join(staging, "bundled-licenses.txt"),
    [licensesOf(root, service.metafile.inputs, listConsolePackages()), licensesOf(cli, metafile.inputs)].join("\n---\n\n"),
  );
}

function copy(from, names, to) {
  for (const name of names) cpSync(path.join(from, name), path.join(to, name));
}

function copyMigrations(staging) {
  const migrations = path.join(root, "migrations");
  copy(migrations, [...listFiles(migrations, ".sql"), "meta/_journal.json"], path.join(staging, "migrations"));
}

/** Adds the packed database that a first start unpacks. The service finds it by the digest of the migrations. */
function addDatabase(staging) {
  execFileSync(node, [path.join(root, "scripts/build.mjs"), "service"], { stdio: ["ignore", "ignore", "inherit"] });
  const databases = path.join(root, "dist/database");
  copy(databases, listFiles(databases, ".br"), path.join(staging, "dist/database"));
}

function addConsole(staging) {
  const target = path.join(staging, "@board/console");
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, "package.json"), "{}\n");
  const script = path.join(root, "packages/console/build.mjs");
  execFileSync(node, [script, path.join(target, "dist")], { stdio: ["ignore", "ignore", "inherit"] });
}

function listConsolePackages() {
  const used = Object.keys(readJson("packages/console/package.json").dependencies);
  return used.filter((name) => !name.startsWith("@board/") && name !== "vite").map((name) => `node_modules/${name}`);
}
