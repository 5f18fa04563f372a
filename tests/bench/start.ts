import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { BenchEnvironment } from "./environment.ts";
import type { Row } from "./row.ts";
import { seconds } from "./row.ts";
import { KEYS } from "./service.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FROM_BUNDLE = path.join(ROOT, "scripts/start.mjs");
const FROM_SOURCE = path.join(ROOT, "packages/local/src/main.ts");
const RUNS = 3;
/** Memory is measured after this time, when the garbage of the start has been collected. */
const IDLE_MS = 5_000;
const CLOCK_TICKS_PER_SECOND = 100;

interface Start {
  ready_ms: number;
  /** Processor time until the service was ready. */
  cpu_ms: number;
  idle_mb: number;
}

/** Measures how long a start takes until the service is ready, and how much memory the service needs when idle. */
export async function benchStart({ postgres }: BenchEnvironment): Promise<Row[]> {
  execFileSync(process.execPath, [path.join(ROOT, "scripts/build.mjs"), "service"], { stdio: "inherit" });
  const folder = mkdtempSync(path.join(tmpdir(), "bench-start-"));
  let databases = 0;
  const places: { what: string; target: string; memory: string; open: () => Promise<Record<string, string>> }[] = [
    {
      what: "first start, embedded database",
      target: "2 s",
      memory: "300 MB",
      open: async () => ({ DATA_DIR: path.join(folder, `first-${databases++}`) }),
    },
    {
      what: "start again, embedded database",
      target: "1 s",
      memory: "300 MB",
      open: async () => ({ DATA_DIR: path.join(folder, "first-0") }),
    },
    {
      what: "first start, empty PostgreSQL database",
      target: "1.5 s",
      memory: "150 MB",
      open: async () => ({ DATABASE_URL: await postgres.createDatabase(`start_${databases++}`) }),
    },
    {
      what: "start again, PostgreSQL",
      target: "0.8 s",
      memory: "150 MB",
      open: async () => ({ DATABASE_URL: postgres.url(`start_${databases - 1}`) }),
    },
  ];
  const rows: Row[] = [];
  try {
    for (const { what, target, memory, open } of places) {
      const source: Start[] = [];
      const bundle: Start[] = [];
      // The runs alternate, so that other load on the machine affects both.
      for (let run = 0; run < RUNS; run++) {
        source.push(await measureStart([FROM_SOURCE], await open()));
        bundle.push(await measureStart([FROM_BUNDLE, "main"], await open()));
      }
      const compare = (key: keyof Start, show: (value: number) => string) => {
        const [baseline, figure] = [medianOf(source, key), medianOf(bundle, key)];
        return { figure: show(figure), baseline: `${show(baseline)} from source`, ratio: `${(figure / baseline).toFixed(2)}x` };
      };
      rows.push(
        { what, target, ...compare("ready_ms", seconds), statements: "" },
        { what: `${what}: processor time`, target: "", ...compare("cpu_ms", seconds), statements: "" },
        { what: `${what}: idle memory`, target: memory, ...compare("idle_mb", (mb) => `${mb.toFixed(0)} MB`), statements: "" },
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}

const medianOf = (starts: Start[], key: keyof Start) =>
  starts.map((start) => start[key]).toSorted((a, b) => a - b)[Math.floor(starts.length / 2)]!;

async function measureStart(args: string[], environment: Record<string, string>): Promise<Start> {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-start-"));
  const started = performance.now();
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], PORT: "0", LOG_LEVEL: "error", DATA_DIR: folder, ...KEYS, ...environment },
  });
  const exited = once(child, "exit");
  let output = "";
  await new Promise<void>((resolve, reject) => {
    void exited.then(() => reject(new Error(`The server did not start: ${output}`)));
    child.stdout!.on("data", (chunk) => {
      output += chunk;
      if (output.includes("ready at")) resolve();
    });
  });
  const ready_ms = performance.now() - started;
  const cpu_ms = readProcessorTime(child.pid!);
  await pause(IDLE_MS);
  const idle_mb = Number(execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" })) / 1024;
  child.kill("SIGTERM");
  await exited;
  rmSync(folder, { recursive: true, force: true });
  return { ready_ms, cpu_ms, idle_mb };
}

/** Returns the processor time of all threads, in user and system mode, as Linux reports it. */
function readProcessorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND) * 1_000;
}
