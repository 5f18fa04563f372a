// Builds the package to publish, without dependencies, into dist or into the folder that is given.
import { readFileSync } from "node:fs";
import path from "node:path";
import { bundlePackage } from "../../scripts/bundle-package.mjs";

const root = import.meta.dirname;
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));

await bundlePackage(
  root,
  process.argv[2] ?? path.join(root, "dist"),
  { bin: { board: "board.js" } },
  {
    entryPoints: [{ in: "src/main.ts", out: "board" }],
    // What only one command needs, such as the runner, becomes a file that this command loads.
    splitting: true,
    chunkNames: "parts/[name]-[hash]",
    platform: "node",
    target: "node20",
    define: { VERSION: JSON.stringify(version) },
    // Commander is CommonJS and calls `require` for modules of Node.
    banner: {
      js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
    },
  },
);
