// Builds the folder `dist` of a workspace package, which `npm pack ./packages/<name>/dist` publishes. It contains JavaScript for
// the oldest supported Node, the licenses of bundled packages and its own package.json. This repository imports the sources.
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

/** Returns the folder of the npm package that contains an input of esbuild, or null for files of this repository. */
const packageOf = (file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? null;

/** Returns the license texts of the packages in a bundle. `others` are the folders of further packages. */
export function licensesOf(folder, inputs, others = []) {
  const bundled = new Set([...Object.keys(inputs).map(packageOf).filter(Boolean), ...others]);
  return [...bundled].map((name) => licenseOf(path.resolve(folder, name))).join("\n---\n\n");
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(path.join(folder, file), "utf8").trim() : ""}\n`;
}

/**
 * Bundles a package. `entry` contains the fields of package.json that differ in the published package. `finish` may add files
 * before the folder becomes dist.
 */
export async function bundlePackage(folder, dist, entry, options, finish = async () => {}) {
  // Written to another folder first, so that nobody reads an incomplete dist.
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
    const licenses = licensesOf(folder, metafile.inputs);
    if (licenses !== "") add("bundled-licenses.txt", licenses);
    const { name, version, description, license, type, engines } = JSON.parse(
      readFileSync(path.join(folder, "package.json"), "utf8"),
    );
    add("package.json", `${JSON.stringify({ name, version, description, license, type, engines, ...entry }, null, 2)}\n`);
    copyFileSync(path.join(ROOT, "LICENSE"), path.join(staging, "LICENSE"));
    copyFileSync(path.join(folder, "README.md"), path.join(staging, "README.md"));
    await finish(staging);
    chmodSync(staging, 0o755);
    const old = `${staging}-old`;
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(staging, dist);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
