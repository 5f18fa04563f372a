/** sst.config.ts as a program, compiled the way the sst CLI compiles it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { root } from "../support/bundle.ts";

const sst = path.join(root, ".sst");
const platform = path.join(sst, "platform");

/** SST's platform has packages of its own; Pulumi must be one and the same for its components and for the mocks. */
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

/** In `.sst/platform`, beside the packages that a compiled program imports; one per folder of work. */
const compiled = (name: string, work: string) => path.join(platform, `rendered-${name}-${path.basename(work)}.mjs`);

/** What `app()` answers, with the defaults that the CLI fills in. */
export async function loadApp(stage: string, work: string): Promise<Record<string, unknown>> {
  const { default: config } = await load(compiled("app", work), `export { default } from "./sst.config.ts";`, {
    banner: { js: `${REQUIRE} const $config = (config) => config;` },
  });
  return { removal: "retain", protect: false, providers: {}, ...(await config.app({ stage })), stage };
}

/** `run()`, inside the same wrapper that the CLI runs it in. Archives go under the folder of work. */
export async function loadProgram(app: Record<string, unknown>, work: string): Promise<() => Promise<unknown>> {
  const providers = JSON.parse(readFileSync(path.join(sst, "provider-lock.json"), "utf8")) as {
    alias: string;
    package: string;
  }[];
  // The CLI gives user code its globals as imports in front of every file.
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
