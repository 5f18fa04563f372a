import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import pg from "pg";
import type { BenchEnvironment } from "./environment.ts";
import { listBackground, ROLE } from "./growth/background.ts";
import { growTo } from "./growth/fill.ts";
import { fillHome } from "./growth/home.ts";
import { type Cost, listGrowing, measure } from "./growth/measure.ts";
import { listRequests } from "./growth/requests.ts";
import { chosenSizes, type Size } from "./growth/sizes.ts";
import { type Row, round } from "./row.ts";

/** The highest ratio of costs that counts as flat. */
const FLAT = 1.3;
const EMPTY: Size = { organizations: 0, agents: 0, events: 0, done_jobs: 0 };

/**
 * Measures the cost of each operation while the other organizations grow, by `GROWTH=small` or `full`. The client's organization is
 * created again at each size, because the benchmark adds to it. The large organization has a tenth of all events, to show which
 * costs grow with an organization's own rows.
 */
export async function benchGrowth(place: BenchEnvironment): Promise<Row[]> {
  const url = place.postgres.url("bench");
  const client = new pg.Client(url);
  await client.connect();
  await client.query("alter system set pg_stat_statements.track_planning = on");
  await client.query("select pg_reload_conf()");
  await client.query(`create role ${ROLE} superuser login password '${ROLE}'`);
  const database = openPostgres(url.replace("postgres:postgres@", `${ROLE}:${ROLE}@`), { log: silentLog });
  const costs = new Map<string, Cost[]>();
  const sizes = chosenSizes();
  let before = EMPTY;
  try {
    for (const size of sizes) {
      const start = performance.now();
      await growTo(client, before, size);
      const { id } = await place.api("POST", "/api/v1/organizations", { name: describe(size) });
      await place.api("PATCH", "/api/v1/organizations/me/active", { organization_id: id });
      const home = { ...place, ...(await place.createHome()) };
      const callers = await fillHome(client, home);
      console.log(`Filled to ${describe(size)} in ${((performance.now() - start) / 1000).toFixed(0)} s`);
      before = size;
      const operations = { ...listRequests(home, callers), ...listBackground(client, database, home, callers) };
      for (const [name, operation] of Object.entries(operations)) {
        const cost = await measure(client, operation);
        costs.set(name, [...(costs.get(name) ?? []), cost]);
      }
    }
  } finally {
    await client.query("alter system reset pg_stat_statements.track_planning");
    await database.close();
    await client.end();
  }
  for (const [name, list] of costs) {
    const [first, last] = [list[0]!, list.at(-1)!];
    if (last.buffers <= first.buffers * FLAT && last.database_ms <= first.database_ms * FLAT) continue;
    console.log(`\n${name} grows:\n  ${listGrowing(first, last).join("\n  ")}`);
  }
  return [...costs].map(([name, list]) => toRow(name, list, sizes));
}

const describe = ({ organizations, agents, events, done_jobs }: Size) =>
  [
    `${organizations.toLocaleString("en")} organizations`,
    `${agents.toLocaleString("en")} agents`,
    `${events.toLocaleString("en")} events`,
    `${done_jobs.toLocaleString("en")} done jobs`,
  ].join(", ");

function toRow(name: string, costs: readonly Cost[], sizes: readonly Size[]): Row {
  const list = (of: (cost: Cost) => string) => costs.map(of).join(", ");
  const [first, last] = [costs[0]!, costs.at(-1)!];
  const times = (of: (cost: Cost) => number | null) => (of(first) ? `${((of(last) ?? 0) / of(first)!).toFixed(2)}x` : "");
  return {
    what: name,
    figure: `PostgreSQL ${list(({ database_ms }) => database_ms.toFixed(2))} ms; service ${list(({ service_ms }) => (service_ms === null ? "-" : round(service_ms)))} ms`,
    target: `${FLAT}x`,
    baseline: `at ${describe(sizes[0]!)}; the last at ${describe(sizes.at(-1)!)}`,
    ratio: `PostgreSQL ${times(({ database_ms }) => database_ms)}, service ${times(({ service_ms }) => service_ms)}`,
    statements: `${list(({ buffers }) => buffers.toFixed(0))} pages`,
  };
}
