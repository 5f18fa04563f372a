import type { BenchEnvironment } from "./environment.ts";
import { type Figures, load } from "./load.ts";
import { rate, type Row } from "./row.ts";
import type { Service } from "./service.ts";

const COUNTS = [1, 2, 4];
const CONNECTIONS = 8;
const READS = 4_000;
const WRITES = 2_000;
const WARM_UP = 300;
const TASKS = 64;

/** Measures reads and changes of tasks with several processes on one database, with and without PostgreSQL's NOTIFY. */
export async function benchProcesses({ api, board, authorization, startSecondService }: BenchEnvironment): Promise<Row[]> {
  const tasks = `/api/v1/boards/${board.id}/tasks`;
  const ids: string[] = [];
  for (let n = 0; n < TASKS; n++) ids.push((await api("POST", tasks, { title: `Task ${n}` })).id);
  const headers = { authorization, "content-type": "application/json" };
  const rows: Row[] = [];
  const firsts: Record<string, number> = {};

  /** Sends each process the same number of requests, over separate connections. */
  async function measure(
    what: string,
    services: readonly Service[],
    requests: number,
    one: (n: number, url: string) => Parameters<typeof load>[0],
  ) {
    const run = (total: number) =>
      Promise.all(services.map((service, n) => load({ ...one(n, service.url), connections: CONNECTIONS, requests: total })));
    await run(WARM_UP);
    const figures = sum(await run(Math.ceil(requests / services.length)));
    firsts[what] ??= figures.per_second;
    const ratio = `${(figures.per_second / firsts[what]).toFixed(2)} x one process`;
    const label = `${what}, ${services.length} ${services.length === 1 ? "process" : "processes"}`;
    rows.push({ what: label, figure: rate(figures), target: "", baseline: "", ratio, statements: "" });
  }

  for (const notify of ["on", "off"]) {
    const services: Service[] = [];
    for (const count of COUNTS) {
      while (services.length < count) services.push(await startSecondService({ DATABASE_NOTIFY: notify }));
      const label = notify === "on" ? "" : ", DATABASE_NOTIFY=off";
      const base = { headers, connections: CONNECTIONS, requests: 0 };
      await measure(`list 20 tasks${label}`, services, READS, (_n, url) => ({ ...base, url: `${url}${tasks}?limit=20` }));
      await measure(`patch a task${label}`, services, WRITES, (part, url) => ({
        ...base,
        url,
        method: "PATCH",
        nth: (n) => ({
          path: `${tasks}/${ids[(n * COUNTS.at(-1)! + part) % TASKS]}`,
          body: JSON.stringify({ title: `Title ${part} ${n} ${notify}` }),
        }),
      }));
    }
    for (const service of services) await service.stop();
  }
  return rows;
}

function sum(parts: readonly Figures[]): Figures {
  return {
    per_second: parts.reduce((total, { per_second }) => total + per_second, 0),
    p50_ms: Math.max(...parts.map(({ p50_ms }) => p50_ms)),
    p99_ms: Math.max(...parts.map(({ p99_ms }) => p99_ms)),
    failed: parts.reduce((total, { failed }) => total + failed, 0),
  };
}
