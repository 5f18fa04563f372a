/**
 * Renders sst.config.ts into the graph of resources that a deployment would ask AWS for, without AWS, the Pulumi engine
 * or a network: SST's own components run against Pulumi's mocks. `node render.ts <graph.json>`; `.sst` must be installed.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../support/bundle.ts";
import { loadApp, loadProgram, platformRequire } from "./program.ts";
import { mocks, type Resource, recordResources } from "./mocks.ts";
import { startSstServer } from "./sst-server.ts";

const STAGE = "production";
const SETTLE_MS = 60_000;

const [output] = process.argv.slice(2);
if (!output) throw new Error("Where to? node render.ts <graph.json>");

// Components work in callbacks that nobody awaits: what they throw surfaces here.
process.on("unhandledRejection", (error) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.reallyExit(1);
});

const pulumi = platformRequire("@pulumi/pulumi");
const server = await startSstServer();
process.env.SST_SERVER = server.url;

await pulumi.runtime.setMocks(mocks, "board-coordination", STAGE, false);
const resources: Resource[] = recordResources();

const app = await loadApp(STAGE);
const program = await loadProgram(app);
await pulumi.runtime.runInPulumiStack(program);
await settled();

mkdirSync(path.dirname(path.resolve(root, output)), { recursive: true });
writeFileSync(path.resolve(root, output), JSON.stringify(resources, null, 1));
await server.close();
// Pulumi's exit hook would report the mocked run as a failed deployment.
process.reallyExit(0);

/** Bundling goes on after the program has ended; Pulumi knows of every promise that is still under way. */
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
