/** Compiles the deployment once and renders every variant before the tests, two at a time. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import path from "node:path";
import { root } from "../../support/bundle.ts";
import { compileProgram } from "./program.ts";
import { folderOf, secretValue, type Variant, variants } from "./variants.ts";

const CONCURRENCY = 2;

const run = promisify(execFile);

async function render(name: string, { stage, settings, secrets, withCode }: Variant) {
  const flags = withCode ? [] : ["--without-code"];
  await run(process.execPath, [path.join(import.meta.dirname, "render.ts"), folderOf(name), stage, ...flags], {
    cwd: root,
    // No other variable is passed on, because the deployment would read it as a setting.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...settings,
      ...Object.fromEntries(secrets.map((secret) => [`SST_SECRET_${secret}`, secretValue(secret)])),
    },
  });
}

export default async function setup(): Promise<void> {
  await compileProgram();
  const waiting = Object.entries<Variant>(variants);
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await render(...next);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
