// Bundles the programs of packages/local, which then start several times faster and need less memory. A bundle is valid only for
// the sources from which it was built. When a source changes, the bundle is built again.
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { root } from "./node-folder.mjs";

export const PROGRAMS = ["main", "demo", "doctor", "jobs", "migrate", "accounts-migrate", "template"];

export const folder = path.join(root, "dist/local");
const list = path.join(folder, "inputs.json");
/** Older bundles are kept this long, because a running service may still load parts of them. */
const KEPT_MS = 24 * 3_600_000;

const sourceOf = (program) => path.join(root, "packages/local/src", `${program}.ts`);
const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Returns the bundled file of a program, or null if there is no bundle of the current sources. */
export function findBundled(program) {
  try {
    const { version, inputs } = JSON.parse(readFileSync(list, "utf8"));
    const file = path.join(folder, version, `${program}.mjs`);
    return inputs.every(isUnchanged) && statSync(file).isFile() ? file : null;
  } catch {
    return null;
  }
}

/**
 * Returns whether a source is unchanged. It compares times first and then contents, because a copied file has another time but the
 * same content.
 */
function isUnchanged({ name, size, time, hash }) {
  const file = path.join(root, name);
  const found = statSync(file);
  return found.size === size && (found.mtimeMs === time || hashOf(readFileSync(file)) === hash);
}

/** Bundled CommonJS packages call `require` to load Node's built-in modules. */
export const REQUIRE = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

/** Bundles programs. `options` contains what differs between a clone and the published package. */
export async function buildPrograms(programs, options) {
  const { build } = await import("esbuild");
  return build({
    absWorkingDir: root,
    entryPoints: programs.map(sourceOf),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    metafile: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    // PGlite loads its WebAssembly from files of its package. Neon's driver is needed only for Neon, and is not bundled because a
    // preloaded module may set its options. pg-native is an optional dependency of pg that is not installed.
    external: ["@electric-sql/pglite", "@neondatabase/serverless", "pg-native"],
    logLevel: "silent",
    ...options,
  });
}

/**
 * Builds the bundle. Several processes may do this at the same time, because the list names a bundle only when its folder is
 * complete.
 */
export async function bundle() {
  mkdirSync(folder, { recursive: true });
  const version = path.basename(mkdtempSync(path.join(folder, "version-")));
  // Only the owner may read a temporary folder, but root builds the image and another user runs it.
  chmodSync(path.join(folder, version), 0o755);
  try {
    const { metafile } = await buildPrograms(PROGRAMS, {
      outdir: path.join(folder, version),
      target: "node24",
      // A bundle's folder is three levels below the root.
      plugins: [keepAddresses("../../../")],
      banner: { js: REQUIRE },
    });
    // Packages are not listed, because the lockfile identifies them and `npm prune` may move the packages of a single workspace.
    const inputs = Object.keys(metafile.inputs)
      .filter((name) => !/(^|\/)node_modules\//.test(name))
      .concat("package-lock.json", "scripts/bundle.mjs")
      .map(describe);
    const draft = path.join(folder, version, "inputs.json");
    writeFileSync(draft, JSON.stringify({ version, inputs }));
    renameSync(draft, list);
    removeOld(version);
  } catch (error) {
    rmSync(path.join(folder, version), { recursive: true, force: true });
    throw error;
  }
}

function describe(name) {
  const file = path.join(root, name);
  const { size, mtimeMs } = statSync(file);
  return { name, size, time: mtimeMs, hash: hashOf(readFileSync(file)) };
}

/**
 * Keeps relative paths in the sources valid in the bundle, such as the path of the migrations. `up` leads from the folder of the
 * bundle to the folder that contains `packages`.
 */
export const keepAddresses = (up) => ({
  name: "keep-addresses",
  setup({ onLoad }) {
    onLoad({ filter: /packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path: file }) => {
      const source = readFileSync(file, "utf8");
      if (!/import\.meta\.(url|dirname)/.test(source)) return null;
      const name = `${up}${path.relative(root, file).replaceAll("\\", "/")}`;
      const address = (of) => `new URL(${JSON.stringify(of)}, import.meta.url)`;
      const contents = source.replaceAll(/import\.meta\.(url|dirname)/g, (_, kind) =>
        kind === "url"
          ? `${address(name)}.href`
          : `process.getBuiltinModule("node:url").fileURLToPath(${address(path.posix.dirname(name))})`,
      );
      return { contents, loader: "ts" };
    });
  },
});

function removeOld(version) {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name !== version && name !== "inputs.json" && Date.now() - statSync(file).mtimeMs > KEPT_MS)
      rmSync(file, { recursive: true, force: true });
  }
}
