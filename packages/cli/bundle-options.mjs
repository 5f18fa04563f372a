/** How the command line is bundled: alone, and as a part of the package that is installed by name. */
export const commandLine = (version, define = {}) => ({
  entryPoints: [{ in: "src/main.ts", out: "board" }],
  // What only one command needs, such as the runner, becomes a file that this command loads.
  splitting: true,
  chunkNames: "parts/[name]-[hash]",
  platform: "node",
  target: "node20",
  define: { VERSION: JSON.stringify(version), ...define },
  // Commander is CommonJS and calls `require` for modules of Node.
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  },
});
