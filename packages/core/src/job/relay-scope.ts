import { type SQL, sql } from "drizzle-orm";
import type { PendingWakeups } from "../pending-wakeups.ts";
import { isLaneHead, laneHead } from "./lane.ts";

/** Which jobs a relay looks at; each has its own statement. */
export type RelayScope = "everything" | "one job" | "few" | "listed";

export function toRelayScope({ everything, ids, lanes }: PendingWakeups): RelayScope {
  if (everything) return "everything";
  if (ids.size === 1 && lanes.size === 0) return "one job";
  return ids.size <= FEW && lanes.size <= FEW ? "few" : "listed";
}

/**
 * Up to this many ids and lanes are single parameters, of which the unused ones are null. PostgreSQL cannot estimate the
 * length of an array and would plan the statement on every use, which takes longer than to run it.
 */
const FEW = 10;
const numbers = Array.from({ length: FEW }, (_, index) => index);

/** The values of `few`. */
export const fewValues = ({ ids, lanes }: PendingWakeups) => {
  const [few_ids, few_lanes] = [[...ids], [...lanes]];
  return Object.fromEntries(
    numbers.flatMap((n) => [[`id_${n}`, few_ids[n] ?? null] as const, [`lane_${n}`, few_lanes[n] ?? null]]),
  );
};

const oneOf = (ids: SQL, lanes: SQL) => sql`id in (
    ${ids}
    union all
    select ${laneHead(sql`wanted.lane`)} from ${lanes} as wanted(lane))`;
const few = (name: string, type: SQL) =>
  sql`(values ${sql.join(
    numbers.map((n) => sql`(${sql.placeholder(`${name}_${n}`)}::${type})`),
    sql`, `,
  )})`;

export const inScope: Record<RelayScope, SQL> = {
  everything: isLaneHead,
  "one job": sql`id = ${sql.placeholder("id")}`,
  /** The jobs with the given ids, and the head of each lane. */
  few: oneOf(sql`select id from ${few("id", sql`uuid`)} as wanted(id)`, few("lane", sql`text`)),
  listed: oneOf(sql`select unnest(${sql.placeholder("ids")}::uuid[])`, sql`unnest(${sql.placeholder("lanes")}::text[])`),
};
