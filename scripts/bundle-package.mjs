// Builds the folder `dist` of a workspace package, which is the package to publish: `npm pack ./packages/<name>/dist`. It has
// JavaScript for the oldest supported Node, the licenses of what was bundled, and its own package.json. The sources stay what
// programs of this repository import.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const ROOT = path.resolve(import.meta.dirname, "..");

/** The folder of the package that an input of esbuild belongs to; null for files of this repository. */
const packageOf = (file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? null;

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(path.join(folder, file), "utf8").trim() : ""}\n`;
}

/** `entry` are the fields of package.json that differ when published. `finish` may add files before the folder becomes dist. */
export async function bundlePackage(folder, dist, entry, options, finish = () => {}) {
  // Written to another folder first, so that nobody reads half of it.
  const staging = mkdtempSync(path.join(path.dirname(dist), ".dist-"));
  const add = (name, text) => writeFileSync(path.join(staging, name), text);
  try {
    const { metafile } = await build({
      absWorkingDir: folder,
      bundle: true,
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
      target: "es2022",
      outdir: staging,
      metafile: true,
      logLevel: "error",
      ...options,
    });
    const bundled = new Set(Object.keys(metafile.inputs).map(packageOf));
    const licenses = [...bundled].filter(Boolean).map((name) => licenseOf(path.resolve(folder, name)));
    if (licenses.length > 0) add("bundled-licenses.txt", licenses.join("\n---\n\n"));
    const { name, version, description, license, type, engines } = JSON.parse(
      readFileSync(path.join(folder, "package.json"), "utf8"),
    );
    add("package.json", `${JSON.stringify({ name, version, description, license, type, engines, ...entry }, null, 2)}\n`);
    copyFileSync(path.join(ROOT, "LICENSE"), path.join(staging, "LICENSE"));
    copyFileSync(path.join(folder, "README.md"), path.join(staging, "README.md"));
    finish(staging);
    chmodSync(staging, 0o755);
    const old = `${staging}-old`;
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(staging, dist);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
