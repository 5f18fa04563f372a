/** Returns the options for bundling the command line, which is published alone and in the package with the service. */
export const commandLine = (version, define = {}) => ({
  entryPoints: [{ in: "src/main.ts", out: "board" }],
  // Code that only one command needs, such as the runner, becomes a separate file that this command loads.
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
