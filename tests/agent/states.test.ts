import { AGENT_STATUSES, agents } from "@board/core/schema/agent.sql";
import { CheckIn } from "@board/core/agent/check-in";
import { OFFLINE_SECONDS, PRESENCE_EXEMPT_STATUSES, PRESENCE_SECONDS } from "@board/core/agent/presence";
import { STRANDED_AFTER_MS } from "@board/core/agent/sweep";
import { CHECK_IN_SECONDS, MAX_WAKE_UPS } from "@board/openclaw/provisioning/wake";
import { getTableConfig, PgDialect } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { listOf, openStateDocument, transitions } from "../support/state-document.ts";

const { text, ...document } = openStateDocument("agent-states.md");
const statuses: string[] = [...AGENT_STATUSES];

/** Returns the statuses that a cell of the table names. */
const expand = (cell: string): string[] =>
  listOf(cell).flatMap((word) => {
    if (word === "any") return statuses.filter((status) => status !== "deleting");
    if (word === "previous_status") return ["provisioning", "ready", "online", "active", "offline"];
    return word;
  });

/** The transitions of the status table. A check-in that leaves the status as it was is not a transition. */
const listed = document
  .tableBelow("## Transitions of the status")
  .flatMap(([from, to, event]) =>
    transitions(expand(from!), expand(to!), [event!]).filter((line) => !/^(\w+) -> \1: check-in$/.test(line)),
  );
const sourcesOf = (event: string) =>
  listed.filter((line) => line.endsWith(`: ${event}`)).map((line) => line.slice(0, line.indexOf(" ")));

test("the diagram of agent statuses shows the transitions of its table", () => {
  expect(listed.length).toBeGreaterThan(40);
  expect(document.diagramBelow("## Status").toSorted()).toEqual(listed.toSorted());
});

test("the diagram of an agent's wake-up shows the transitions of its table", () => {
  const rows = document.tableBelow("## Wake-up");
  const inTable = rows.flatMap(([from, to, event]) => transitions([from!], [to!], [event!]));
  expect(document.diagramBelow("## Wake-up").toSorted()).toEqual(inTable.toSorted());
});

test("the documented agent statuses are the statuses of the table agents", () => {
  const check = getTableConfig(agents).checks.find(({ name }) => name === "agents_status")!;
  const { sql } = new PgDialect().sqlToQuery(check.value);
  expect([...sql.matchAll(/'(\w+)'/g)].map(([, status]) => status)).toEqual(statuses);
  const documented = document.tableBelow("## Status").map(([status]) => status);
  expect(new Set(documented)).toEqual(new Set(statuses));
});

test("the documented statuses of check-ins and presence equal the statuses in the code", () => {
  const checkIn = document.tableBelow("## Transitions of the status").find(([, , event]) => event === "check-in")!;
  expect(listOf(checkIn[1]!).toSorted()).toEqual(CheckIn.shape.status.unwrap().unwrap().options.toSorted());
  const unaffected = (event: string) => statuses.filter((status) => !sourcesOf(event).includes(status));
  expect(new Set(unaffected("check-in"))).toEqual(new Set(PRESENCE_EXEMPT_STATUSES));
  expect(new Set(unaffected("seen"))).toEqual(new Set([...PRESENCE_EXEMPT_STATUSES, "online"]));
});

test("the documented times and limits of agents equal the values in the code", () => {
  expect(text).toContain(`at most once every ${PRESENCE_SECONDS} s`);
  expect(text).toContain(`not seen for ${OFFLINE_SECONDS} s`);
  expect(text).toContain(`within the last ${STRANDED_AFTER_MS / 60_000} minutes`);
  expect(text).toContain(`\`checkin_deadline_at\` in ${CHECK_IN_SECONDS} s`);
  expect([text.includes("fewer than three wake-ups"), MAX_WAKE_UPS]).toEqual([true, 3]);
});
