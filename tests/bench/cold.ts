/**
 * Measures the processor time of cold starts: of each function's import, of its initialization and its first answer under
 * AWS's runtime client. `--against <folder>` also measures other bundles, alternately, to compare two versions.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { startAwsDeployment } from "../aws/deployment.ts";
import { bundleFunctions, root } from "../support/bundle.ts";
import type { Lambda } from "../support/lambda-sandbox.ts";
import { createFirstRequests, type FirstRequest } from "./first-requests.ts";

const { values, positionals } = parseArgs({
  options: { against: { type: "string" }, only: { type: "string" } },
  allowPositionals: true,
});
/** Processes per function and version. */
const RUNS = Number(positionals[0] ?? 5);
const PROBE = path.join(root, "tests/support/processor-time.cjs");

/** Milliseconds of processor time in one process. */
interface ColdStart {
  init: number;
  answer: number;
  total: number;
}

/** Reads the processor time that a function has used so far. */
async function readProcessorMs(lambda: Lambda): Promise<number> {
  const before = lambda.logs.length;
  process.kill(lambda.pid, "SIGUSR2");
  for (;;) {
    const line = lambda.logs.slice(before).find((text) => text.startsWith("processor time "));
    if (line) {
      const { user, system } = JSON.parse(line.slice("processor time ".length)) as { user: number; system: number };
      return (user + system) / 1_000;
    }
    await pause(2);
  }
}

const cloud = await startAwsDeployment();
const host = await startFakeGateway({ token: "test-token-123" });
const empty = path.join(root, "dist/cold-start-empty");
await mkdir(empty, { recursive: true });
await writeFile(path.join(empty, "bundle.mjs"), "export const handler = async () => ({ statusCode: 200 });\n");
const emptyRequest: FirstRequest = {
  what: "",
  name: "(empty module)",
  send: async (lambda) => void (await lambda.invoke({})),
};

async function measure(request: FirstRequest, folder: string): Promise<ColdStart> {
  const lambda = await cloud.lambda(request.name === emptyRequest.name ? "fallback" : request.name, {
    folder,
    nodeOptions: `--require ${PROBE}`,
    env: { CLOCK_FILE: "" },
  });
  try {
    const init = await readProcessorMs(lambda);
    await request.send(lambda);
    const total = await readProcessorMs(lambda);
    return { init, answer: total - init, total };
  } finally {
    await lambda.stop("SIGKILL");
  }
}

const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
const medians = (starts: readonly ColdStart[]): ColdStart => ({
  init: median(starts.map(({ init }) => init)),
  answer: median(starts.map(({ answer }) => answer)),
  total: median(starts.map(({ total }) => total)),
});

const print = (...cells: string[]) =>
  process.stdout.write(
    `${cells[0]!.padEnd(16)}${cells
      .slice(1, -1)
      .map((cell) => cell.padStart(10))
      .join("")}  ${cells.at(-1)}\n`,
  );
const show = (ms: number) => ms.toFixed(0);

const only = values.only?.split(",");
const bundles = await bundleFunctions(only);
const all = await createFirstRequests(cloud, host.url);
const requests = [emptyRequest, ...all.filter(({ name }) => only?.includes(name) ?? true)];
const folders = (name: string) =>
  name === emptyRequest.name ? [empty] : [bundles[name]!.folder, ...(values.against ? [path.join(values.against, name)] : [])];

const starts = requests.map(({ name }) => folders(name).map((): ColdStart[] => []));
for (let round = 0; round < RUNS; round += 1)
  for (const [index, request] of requests.entries())
    for (const [version, folder] of folders(request.name).entries())
      starts[index]![version]!.push(await measure(request, folder));

const base = medians(starts[0]![0]!);
print("function", "init", "answer", "total", ...(values.against ? ["init", "answer", "total", "ratio"] : []), "first request");
for (const [index, { name, what }] of requests.entries()) {
  const versions = starts[index]!.map(medians).map((start) => ({
    init: start.init - (index === 0 ? 0 : base.init),
    answer: start.answer - (index === 0 ? 0 : base.answer),
    total: start.total - (index === 0 ? 0 : base.total),
  }));
  const cells = versions.flatMap(({ init, answer, total }) => [show(init), show(answer), show(total)]);
  const ratio = versions.length > 1 ? [(versions[0]!.total / versions[1]!.total).toFixed(2)] : [];
  print(name, ...cells, ...ratio, what);
}
await host.close();
await cloud.close();
process.exit(0);
