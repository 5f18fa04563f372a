import { JOB_STATUSES, jobs } from "@board/core/schema/job.sql";
import { LEASE_MS } from "@board/core/job/job";
import { RETRY_POLICIES } from "@board/core/job/kinds";
import { MAX_CRASHES } from "@board/core/job/outcome";
import { RENEW_INTERVAL_MS } from "@board/core/job/runner";
import { getTableConfig, PgDialect } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { listOf, openStateDocument, transitions } from "../support/state-document.ts";

const { text, ...document } = openStateDocument("job-states.md");

test("the diagram of job states shows the transitions of the table in code", () => {
  const drawn = document.diagramBelow("# States of a job");
  const listed = document
    .tableBelow("## Transitions")
    .flatMap(([from, to, event]) => transitions(listOf(from!), listOf(to!), [event!]));
  expect(drawn.length).toBeGreaterThan(10);
  expect(drawn.toSorted()).toEqual(listed.toSorted());
});

test("the documented job statuses are the statuses of the table jobs", () => {
  const check = getTableConfig(jobs).checks.find(({ name }) => name === "jobs_status")!;
  const { sql } = new PgDialect().sqlToQuery(check.value);
  expect([...sql.matchAll(/'(\w+)'/g)].map(([, status]) => status)).toEqual([...JOB_STATUSES]);
  expect(document.tableBelow("# States of a job").map(([status]) => status)).toEqual([...JOB_STATUSES]);
  const used = document.tableBelow("## Transitions").flatMap(([from, to]) => [...listOf(from!), ...listOf(to!)]);
  expect(new Set(used)).toEqual(new Set([...JOB_STATUSES, "(none)", "(removed)"]));
});

test("the documented rules name the lease, the crash limit and the kinds that retry permanent failures", () => {
  expect(text).toContain(`\`lease_until\` in ${LEASE_MS / 1_000} s`);
  expect(text).toContain(`every ${RENEW_INTERVAL_MS / 1_000} s`);
  expect([text.includes("fifth crash"), MAX_CRASHES]).toEqual([true, 5]);
  const kinds = text.match(/retries permanent failures too \(([^)]+)\)/)![1]!.match(/[a-z]+\.[a-z_]+/g)!;
  const retrying = Object.entries(RETRY_POLICIES).filter(([, policy]) => policy.retry_permanent);
  expect(kinds.toSorted()).toEqual(retrying.map(([kind]) => kind).toSorted());
});
