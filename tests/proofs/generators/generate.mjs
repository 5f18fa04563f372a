/**
 * Usage: node generate.mjs <generator> <document> <folder>. Runs in a separate process, because a generator ends the process that
 * it runs in.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";

const [generator, document, folder] = process.argv.slice(2);

const GENERATORS = {
  async "openapi-typescript"() {
    const { astToString, default: openapiTS } = await import("openapi-typescript");
    writeFileSync(path.join(folder, "api.ts"), astToString(await openapiTS(new URL(`file://${document}`))));
  },
  async "hey-api"() {
    const { createClient } = await import("@hey-api/openapi-ts");
    await createClient({ input: document, output: folder, logs: { level: "error" } });
  },
  async orval() {
    const { generate } = await import("orval");
    const target = path.join(folder, "client.ts");
    await generate({ input: { target: document }, output: { target, client: "fetch", mode: "single" } });
  },
};

await GENERATORS[generator]();
