// Builds the console into `dist`, or into the folder that is given, and compresses its files. It is plain JavaScript, so that it
// runs on every supported Node.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const root = import.meta.dirname;
const target = path.resolve(process.argv[2] ?? path.join(root, "dist"));
const started = performance.now();
/** The build writes to this folder and renames it at the end, so that a running service never reads an incomplete page. */
const draft = `${target}-${process.pid}`;

try {
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: draft,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        input: { index: path.join(root, "index.html"), "service-worker": path.join(root, "src/worker/worker.ts") },
        // Browsers identify a service worker by its address, so its name has no hash.
        output: { entryFileNames: ({ name }) => (name === "service-worker" ? "[name].js" : "assets/[name]-[hash].js") },
      },
    },
  });
  const assets = path.join(draft, "assets");
  for (const name of readdirSync(assets)) {
    const content = readFileSync(path.join(assets, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(path.join(assets, `${name}.br`), brotliCompressSync(content, { params }));
    writeFileSync(path.join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
process.stdout.write(`Built the console in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
