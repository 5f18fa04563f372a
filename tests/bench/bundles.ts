/**
 * Measures the cold start of every function: the bytes that it loads, and the time that a new process needs to import them. A
 * slow import is only a warning. A forbidden package fails the run if it is in a function that a client waits for.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { groups } from "@board/functions/manifest";
import { type Bundle, bundleFunctions } from "../support/bundle.ts";

/** Processes per function; the first argument sets another number. */
const RUNS = Number(process.argv[2] ?? 15);
const BUDGET_MS = 50;
const ENV = {
  AWS_LAMBDA_FUNCTION_NAME: "bench",
  AWS_REGION: "us-east-1",
  DATABASE_URL: "postgres://u:p@127.0.0.1:1/x",
  QUEUE_URLS:
    "deliveries=http://127.0.0.1:1/d,syncs=http://127.0.0.1:1/s,probes=http://127.0.0.1:1/p,outbound=http://127.0.0.1:1/o",
  BASE_URL: "http://127.0.0.1:1",
  LOCAL_AUTH_TOKEN: "0".repeat(64),
  ENCRYPTION_KEY: Buffer.alloc(32).toString("base64"),
  TOKEN_PEPPER: Buffer.alloc(32).toString("base64"),
};
const IMPORT = `
  globalThis.awslambda = { streamifyResponse: (handler) => handler };
  const start = performance.now();
  await import(process.argv[1]);
  process.stdout.write(String(performance.now() - start), () => process.exit(0));
`;

/**
 * Packages that functions with a waiting client may only import lazily, because each costs up to 50 ms. Zod's error texts in other
 * languages get into a bundle when code uses Zod's namespace in a way that keeps all of it. The functions use Neon's driver, so
 * node-postgres (`pg`) would be loaded for nothing.
 */
const COSTLY = [
  "zod/v4/locales/de",
  "@aws-sdk/",
  "@smithy/",
  "@aws-lambda-powertools/",
  "zod-openapi/",
  "swagger-ui-dist/",
  "@modelcontextprotocol/",
  "pg/",
];
const forbidden = ({ modules }: Bundle): string[] =>
  COSTLY.filter((part) => modules.some((module) => module.includes(`node_modules/${part}`)));

/** Checks whether a client waits for the function, for an answer or for the start of a stream. */
const isAwaited = ({ name }: Bundle) => name in groups || name === "stream";

const run = promisify(execFile);

async function importMs(file: string): Promise<number> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", IMPORT, file], {
    env: { PATH: process.env.PATH, ...ENV },
  });
  return Number(stdout);
}

/** Runs one process at a time and every file once per round, so that a busy machine affects all files equally. */
async function measure(files: readonly string[]): Promise<number[][]> {
  const times: number[][] = files.map(() => []);
  for (let round = 0; round < RUNS; round += 1)
    for (const [index, file] of files.entries()) times[index]?.push(await importMs(file));
  return times.map((list) => list.toSorted((a, b) => a - b));
}

const print = (line: string) => process.stdout.write(`${line}\n`);
const row = (name: string, bytes: string, min: string, median: string, note = "") =>
  print(`${name.padEnd(16)}${bytes.padStart(10)}${min.padStart(10)}${median.padStart(10)}  ${note}`.trimEnd());

const scratch = await mkdtemp(path.join(tmpdir(), "board-bench-"));
const empty = path.join(scratch, "empty.mjs");
await writeFile(empty, "export {};\n");
const bundles = Object.values(await bundleFunctions());
const { tags } = await bundleFunctions(["tags"], { accounts: true });
/** Shows what a stage with accounts adds to each function. */
const withAccounts: Bundle = { ...tags!, name: "tags, accounts" };
const measured = [...bundles, withAccounts];
const times = await measure([empty, ...measured.map(({ file }) => file)]);
await rm(scratch, { recursive: true });

row("function", "bytes", "min ms", "median ms");
for (const [index, list] of times.entries()) {
  const [bundle, min = 0, median = 0] = [measured[index - 1], list[0], list[Math.floor(list.length / 2)]];
  const slow = median > BUDGET_MS && bundle && isAwaited(bundle) ? `warning: over ${BUDGET_MS} ms` : "";
  row(bundle?.name ?? "(empty module)", String(bundle?.bytes ?? 0), min.toFixed(1), median.toFixed(1), slow);
}

for (const bundle of bundles.filter(isAwaited))
  for (const part of forbidden(bundle)) {
    print(`${bundle.name}: loads ${part} at import`);
    process.exitCode = 1;
  }
