/** The server that the sst CLI runs for its components: the few calls that a deployment makes. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { json } from "node:stream/consumers";
import { bundleFile, root } from "../support/bundle.ts";

interface BuildInput {
  functionID: string;
  /** `path/to/file.export`, without the file's extension. */
  handler: string;
  properties: { minify?: boolean; splitting?: boolean; esbuild?: { external?: string[] } };
}

const calls: Record<string, (params: unknown) => unknown> = {
  "Provider.Aws.Bootstrap": () => ({
    asset: "sst-asset",
    state: "sst-state",
    assetEcrRegistryId: "",
    assetEcrUrl: "",
    appsyncHttp: "",
    appsyncRealtime: "",
  }),
  "Runtime.Build": (params) => buildFunction(params as BuildInput),
};

/** Really bundles, so that a handler that does not exist, does not compile or has no such export fails the rendering. */
async function buildFunction({ functionID, handler, properties }: BuildInput) {
  const source = path.posix.parse(handler);
  const file = `${source.dir}/${source.name}.ts`;
  const exported = source.ext.slice(1);
  const out = path.join(root, ".sst/artifacts", `${functionID}-src`);
  // The folder becomes the function's archive.
  await rm(out, { recursive: true, force: true });
  const metafile = await bundleFile(file, out, {
    minify: properties.minify ?? false,
    splitting: properties.splitting ?? false,
    external: properties.esbuild?.external ?? [],
  });
  const entry = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint === file);
  if (!entry?.exports.includes(exported)) throw new Error(`${handler}: the file has no such export`);
  return { handler: `bundle.${exported}`, out, errors: [], sourcemaps: [] };
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const { method, params } = (await json(request)) as { method: string; params: unknown[] };
  return calls[method]?.(params[0]) ?? {};
}

export async function startSstServer() {
  const server = createServer((request, response) => {
    answer(request).then(
      (result) => response.end(JSON.stringify({ result, error: null })),
      (error: Error) => response.end(JSON.stringify({ result: null, error: error.message })),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
