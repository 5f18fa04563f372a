/**
 * Bundles the functions as a deployment does: esbuild with the options of SST's builder and one folder per function.
 * Tests run these folders under AWS's runtime client, and the bundle bench measures them.
 */
import { cp, mkdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ApiGroup, groups, migrate } from "@board/functions/manifest";
import { build, type Metafile } from "esbuild";

export const root = path.resolve(import.meta.dirname, "../..");

export interface Entry {
  name: string;
  /** The path from the project root. */
  source: string;
  files: NonNullable<ApiGroup["files"]>;
}

export interface Bundle {
  name: string;
  /** The folder that Lambda unpacks as LAMBDA_TASK_ROOT. */
  folder: string;
  file: string;
  /** The size of the files that a cold start loads, without lazily imported chunks. */
  bytes: number;
  /** The source modules in those files. */
  modules: readonly string[];
}

const functionEntry = (name: string, source: string, files: Entry["files"] = []): Entry => ({
  name,
  source: `packages/functions/src/${source}.ts`,
  files,
});

/** Every function of the manifest. No API group has the name of another function. */
export const entries: readonly Entry[] = [
  ...Object.entries<ApiGroup>(groups).map(([name, group]) => functionEntry(name, `api/${name}`, group.files)),
  functionEntry("stream", "stream"),
  functionEntry("deliveries", "consume"),
  functionEntry("syncs", "consume"),
  functionEntry("probes", "consume"),
  functionEntry("outbound", "consume"),
  functionEntry("schedule", "schedule"),
  functionEntry("migrate", "migrate", migrate.files),
];

// SST's builder adds the same banner. Its names are long, so that no name in minified code is the same.
const BANNER = [
  `import { createRequire as topLevelCreateRequire } from 'module';`,
  `const require = topLevelCreateRequire(import.meta.url);`,
  `import { fileURLToPath as topLevelFileUrlToPath, URL as topLevelURL } from "url"`,
  `const __filename = topLevelFileUrlToPath(import.meta.url)`,
  `const __dirname = topLevelFileUrlToPath(new topLevelURL(".", import.meta.url))`,
].join("\n");

interface BundleOptions {
  minify?: boolean;
  splitting?: boolean;
  external?: readonly string[];
}

/**
 * Bundles a source file into `folder`: bundle.mjs, and a chunk for each lazily imported module. Another process may read
 * the folder, so chunks, named by their content, are written first and bundle.mjs is replaced atomically.
 */
export async function bundleFile(source: string, folder: string, options: BundleOptions = {}): Promise<Metafile> {
  const { minify = true, splitting = true, external = [] } = options;
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [source],
    outdir: folder,
    entryNames: "bundle",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    target: "es2024",
    mainFields: ["module", "main"],
    keepNames: true,
    minify,
    splitting,
    external: ["sharp", "pg-native", ...external],
    banner: { js: BANNER },
    logLevel: "silent",
  });
  await mkdir(folder, { recursive: true });
  const chunksFirst = outputFiles.toSorted((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)));
  for (const { path: file, contents } of chunksFirst) {
    const partial = `${file}.${process.pid}.partial`;
    await writeFile(partial, contents);
    await rename(partial, file);
  }
  return metafile;
}

const isEntry = (file: string) => path.basename(file) === "bundle.mjs";

/** The module that is bundled only for stages with accounts. */
const ACCOUNTS = "@board/accounts/accounts";

async function bundleEntry(item: Entry, into: string, { accounts = false } = {}): Promise<Bundle> {
  const folder = path.join(into, item.name);
  const metafile = await bundleFile(item.source, folder, { external: accounts ? [] : [ACCOUNTS] });
  for (const { from, to } of item.files) await cp(path.join(root, from), path.join(folder, to), { recursive: true });
  const loaded = loadedAtImport(metafile);
  const bytes = loaded.reduce((sum, output) => sum + output.bytes, 0);
  return {
    name: item.name,
    folder,
    file: path.join(folder, "bundle.mjs"),
    bytes,
    modules: loaded.flatMap(({ inputs }) => Object.keys(inputs)),
  };
}

/** Returns the entry and every chunk that it imports statically. */
function loadedAtImport({ outputs }: Metafile): Metafile["outputs"][string][] {
  const files = new Set(Object.keys(outputs).filter(isEntry));
  for (const file of files)
    for (const { path: chunk, kind } of outputs[file]?.imports ?? [])
      if (chunk in outputs && kind !== "dynamic-import") files.add(chunk);
  return [...files].flatMap((file) => outputs[file] ?? []);
}

/** Bundles the named functions, or all of them, into dist/functions/<name>. A stage with accounts has another folder. */
export async function bundleFunctions(
  names?: readonly string[],
  { accounts = false, into = path.join(root, accounts ? "dist/functions-with-accounts" : "dist/functions") } = {},
): Promise<Record<string, Bundle>> {
  const unknown = names?.filter((name) => !entries.some((item) => item.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`No such function: ${unknown.join(", ")}`);
  const wanted = entries.filter((item) => names?.includes(item.name) ?? true);
  const bundles = await Promise.all(wanted.map((item) => bundleEntry(item, into, { accounts })));
  return Object.fromEntries(bundles.map((bundle) => [bundle.name, bundle]));
}
