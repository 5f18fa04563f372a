/**
 * Renders sst.config.ts into the graph of resources of a deployment, without AWS, the Pulumi engine or a network: SST's
 * components run against Pulumi's mocks. `node render.ts <folder> <stage> [--without-code]` writes graph.json to the
 * folder and the functions' archives to artifacts/. The program must be compiled (program.ts).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../support/bundle.ts";
import { loadApp, loadProgram, platformRequire } from "./program.ts";
import { mocks, type Resource, recordResources } from "./mocks.ts";
import { startSstServer } from "./sst-server.ts";

const SETTLE_MS = 60_000;

const [folder, stage, ...flags] = process.argv.slice(2);
if (!folder || !stage) throw new Error("Usage: node render.ts <folder> <stage> [--without-code]");
const work = path.resolve(root, folder);
mkdirSync(work, { recursive: true });

// Components run callbacks that are not awaited; their errors surface here.
process.on("unhandledRejection", (error) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.reallyExit(1);
});

const pulumi = platformRequire("@pulumi/pulumi");
const server = await startSstServer({ work, withCode: !flags.includes("--without-code") });
process.env.SST_SERVER = server.url;

await pulumi.runtime.setMocks(mocks, "board-coordination", stage, false);
const resources: Resource[] = recordResources();

const app = await loadApp(stage);
const program = await loadProgram(app, work);
await pulumi.runtime.runInPulumiStack(program);
await settled();

writeFileSync(path.join(work, "graph.json"), JSON.stringify({ app, resources }, null, 1));
await server.close();
// Pulumi's exit hook would report the mocked run as a failed deployment.
process.reallyExit(0);

/** Waits for bundling, which continues after the program has ended. Pulumi tracks every pending promise. */
async function settled() {
  const { getStore } = platformRequire("@pulumi/pulumi/runtime/state");
  for (const deadline = Date.now() + SETTLE_MS; getStore().leakCandidates.size > 0; ) {
    if (Date.now() > deadline) throw new Error("The graph did not settle");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

declare global {
  namespace NodeJS {
    interface Process {
      /** Ends the process without its exit listeners. */
      reallyExit(code: number): never;
    }
  }
}
