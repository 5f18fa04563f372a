/** Replaces the server that the sst CLI runs for its components, with the few calls that a deployment uses. */
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { json } from "node:stream/consumers";
import { bundleFile } from "../../support/bundle.ts";

interface BuildInput {
  functionID: string;
  /** The handler as `path/to/file.export`, without the extension of the file. */
  handler: string;
  properties: { minify?: boolean; splitting?: boolean; esbuild?: { external?: string[] } };
}

interface Options {
  /** Where SST expects the built files. */
  work: string;
  /** False renders empty functions, for tests that only need the resources. */
  withCode: boolean;
}

const callsFor = (options: Options): Record<string, (params: unknown) => unknown> => ({
  "Provider.Aws.Bootstrap": () => ({
    asset: "sst-asset",
    state: "sst-state",
    assetEcrRegistryId: "",
    assetEcrUrl: "",
    appsyncHttp: "",
    appsyncRealtime: "",
  }),
  "Runtime.Build": (params) => buildFunction(params as BuildInput, options),
});

/** Bundles the handler, so that a missing file, a compile error or a missing export fails the rendering. */
async function buildFunction({ functionID, handler, properties }: BuildInput, { work, withCode }: Options) {
  const source = path.posix.parse(handler);
  const file = `${source.dir}/${source.name}.ts`;
  const exported = source.ext.slice(1);
  const out = path.join(work, "artifacts", `${functionID}-src`);
  const built = { handler: `bundle.${exported}`, out, errors: [], sourcemaps: [] };
  // The folder becomes the function's archive.
  await rm(out, { recursive: true, force: true });
  if (!withCode) {
    await mkdir(out, { recursive: true });
    await writeFile(path.join(out, "bundle.mjs"), "");
    return built;
  }
  const metafile = await bundleFile(file, out, {
    minify: properties.minify ?? false,
    splitting: properties.splitting ?? false,
    external: properties.esbuild?.external ?? [],
  });
  const entry = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint === file);
  if (!entry?.exports.includes(exported)) throw new Error(`${handler}: the file has no such export`);
  return built;
}

async function answer(request: IncomingMessage, calls: ReturnType<typeof callsFor>): Promise<unknown> {
  const { method, params } = (await json(request)) as { method: string; params: unknown[] };
  return calls[method]?.(params[0]) ?? {};
}

export async function startSstServer(options: Options) {
  const calls = callsFor(options);
  const server = createServer((request, response) => {
    answer(request, calls).then(
      (result) => response.end(JSON.stringify({ result, error: null })),
      (error: Error) => response.end(JSON.stringify({ result: null, error: error.message })),
    );
  });
  // On a busy machine the next request of a connection may come later than the time limit, and would then be cut.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
