/** Compiles sst.config.ts into a program, as the sst CLI does. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { root } from "../../support/bundle.ts";

const sst = path.join(root, ".sst");
const platform = path.join(sst, "platform");

/** SST's platform has separate packages. Its components and the mocks must share one copy of Pulumi. */
// oxlint-disable-next-line typescript/no-explicit-any -- these packages are installed later than this project's types
export const platformRequire: (id: string) => any = createRequire(path.join(platform, "package.json"));

const EXTERNAL = [
  "@pulumi/*",
  "@pulumiverse/*",
  "@sst-provider/*",
  "@aws-sdk/*",
  "archiver",
  "esbuild",
  "glob",
  "undici",
  "vite",
];
const REQUIRE = `import { createRequire as topLevelCreateRequire } from "module"; const require = topLevelCreateRequire(import.meta.url);`;

async function load(outfile: string, entry: string, options: BuildOptions) {
  await build({
    stdin: { contents: entry, resolveDir: root, loader: "ts" },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
    nodePaths: [path.join(platform, "node_modules")],
    external: EXTERNAL,
    logLevel: "silent",
    ...options,
  });
  return import(pathToFileURL(outfile).href);
}

/** Returns the path of a compiled file. It is in `.sst/platform`, next to the packages that it imports, once per working folder. */
const compiled = (name: string, work: string) => path.join(platform, `rendered-${name}-${path.basename(work)}.mjs`);

/** Returns the result of `app()` with the CLI's defaults. */
export async function loadApp(stage: string, work: string): Promise<Record<string, unknown>> {
  const { default: config } = await load(compiled("app", work), `export { default } from "./sst.config.ts";`, {
    banner: { js: `${REQUIRE} const $config = (config) => config;` },
  });
  return { removal: "retain", protect: false, providers: {}, ...(await config.app({ stage })), stage };
}

/** Runs `run()` inside the CLI's wrapper. Archives are written to the working folder. */
export async function loadProgram(app: Record<string, unknown>, work: string): Promise<() => Promise<unknown>> {
  const providers = JSON.parse(readFileSync(path.join(sst, "provider-lock.json"), "utf8")) as {
    alias: string;
    package: string;
  }[];
  // The CLI provides its globals as imports at the beginning of every file.
  const globals = [
    ...providers.map(({ alias, package: name }) => `import * as ${alias} from "${name}";`),
    `import * as sst from "${platform}/src/components";`,
  ].join("\n");
  const paths = { home: path.join(work, "home"), root, work, platform };
  const { default: program } = await load(
    compiled("run", work),
    `import { run } from "${platform}/src/auto/run.ts"; import config from "./sst.config.ts"; export default () => run(config.run);`,
    {
      banner: { js: REQUIRE },
      inject: [path.join(platform, "src/shim/run.js")],
      define: {
        $app: JSON.stringify(app),
        $cli: JSON.stringify({ command: "deploy", dev: false, paths, state: { version: {} } }),
        $dev: "false",
      },
      plugins: [
        {
          name: "globals",
          setup(plugin) {
            plugin.onLoad({ filter: /\.ts$/ }, ({ path: file }) =>
              file.startsWith(sst) || file.includes("/node_modules/")
                ? undefined
                : { contents: `${globals}\n${readFileSync(file, "utf8")}`, loader: "ts" },
            );
          },
        },
      ],
    },
  );
  return program;
}
