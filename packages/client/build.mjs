// Builds the package to publish, JavaScript for browsers and Node with its types, into dist or into the folder in the argument.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { bundlePackage } from "../../scripts/bundle-package.mjs";

const root = import.meta.dirname;
const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const { dependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const names = ["index", "api", "changes", "client", "error", "events", "operation"];

const entry = {
  sideEffects: false,
  exports: {
    ".": { types: "./index.d.ts", default: "./index.js" },
    "./*": { types: "./*.d.ts", default: "./*.js" },
  },
  // The parser of server-sent events is bundled: its package declares a newer minimum version of Node than its code really needs.
  dependencies: { "openapi-fetch": dependencies["openapi-fetch"] },
};

await bundlePackage(
  root,
  process.argv[2] ?? path.join(root, "dist"),
  entry,
  { entryPoints: names.map((name) => `src/${name}.ts`), splitting: true, external: ["openapi-fetch"] },
  async (folder) =>
    execFileSync(process.execPath, [compiler, "-p", path.join(root, "tsconfig.json"), "--outDir", folder], { stdio: "inherit" }),
);
