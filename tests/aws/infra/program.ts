/** Compiles sst.config.ts into a program and loads it, as the sst CLI does. */
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

const compiled = (name: "app" | "run") => path.join(platform, `rendered-${name}.mjs`);
const importCompiled = (name: "app" | "run") => import(pathToFileURL(compiled(name)).href);

/** Compiles an entry into `.sst/platform`, next to the packages that it imports. */
async function compile(name: "app" | "run", entry: string, options: BuildOptions): Promise<void> {
  await build({
    stdin: { contents: entry, resolveDir: root, loader: "ts" },
    outfile: compiled(name),
    bundle: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
    nodePaths: [path.join(platform, "node_modules")],
    external: EXTERNAL,
    logLevel: "silent",
    ...options,
  });
}

/** Compiles the program of all variants. They differ only in `$app` and `$cli`, which each process sets before it loads the program. */
export async function compileProgram(): Promise<void> {
  const providers = JSON.parse(readFileSync(path.join(sst, "provider-lock.json"), "utf8")) as {
    alias: string;
    package: string;
  }[];
  // The CLI provides its globals as imports at the beginning of every file.
  const globals = [
    ...providers.map(({ alias, package: name }) => `import * as ${alias} from "${name}";`),
    `import * as sst from "${platform}/src/components";`,
  ].join("\n");
  await compile("app", `export { default } from "./sst.config.ts";`, {
    banner: { js: `${REQUIRE} const $config = (config) => config;` },
  });
  await compile(
    "run",
    `import { run } from "${platform}/src/auto/run.ts"; import config from "./sst.config.ts"; export default () => run(config.run);`,
    {
      banner: { js: REQUIRE },
      inject: [path.join(platform, "src/shim/run.js")],
      define: { $app: "globalThis.$app", $cli: "globalThis.$cli", $dev: "false" },
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
}

/** Returns the result of `app()` with the CLI's defaults. */
export async function loadApp(stage: string): Promise<Record<string, unknown>> {
  const { default: config } = await importCompiled("app");
  return { removal: "retain", protect: false, providers: {}, ...(await config.app({ stage })), stage };
}

/** Runs `run()` inside the CLI's wrapper. Archives are written to the working folder. */
export async function loadProgram(app: Record<string, unknown>, work: string): Promise<() => Promise<unknown>> {
  const paths = { home: path.join(work, "home"), root, work, platform };
  Object.assign(globalThis, { $app: app, $cli: { command: "deploy", dev: false, paths, state: { version: {} } } });
  return (await importCompiled("run")).default;
}
