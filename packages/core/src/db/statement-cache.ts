import { sql } from "drizzle-orm";

/*
 * The server plans a prepared statement once per connection (`cacheStatements`, switched off by PREPARED_STATEMENTS=off).
 * `inlineLimit` and `selectGiven` help it to keep one plan for all values. That Drizzle builds the SQL text of a hot query once
 * per process is another matter, and always on; see prepared.ts.
 */

/** A statement is named from this use on: one that runs only once is not worth caching, such as a list of unusual length. */
const MIN_USES = 5;
/** Each named statement keeps a plan of tens of kilobytes in every connection's memory on the server. */
const MAX_STATEMENTS = 300;
const MAX_TRACKED_TEXTS = 3_000;

/**
 * A limit that is written into the SQL text. A generic plan does not know the value of a parameter and overestimates its
 * cost, so PostgreSQL would plan the statement on every use; for a page of wide rows planning is a third of the time.
 */
export const inlineLimit = (limit: number): number => sql.raw(String(limit)) as unknown as number;

interface Client {
  query: (...args: never[]) => unknown;
}
interface Pool {
  on(event: "connect", listener: (client: Client) => void): unknown;
}
interface QueryConfig {
  text: string;
  name?: string | undefined;
}

/**
 * Makes the connections of a pool prepare frequent statements, so that the server plans each one once per connection. The
 * drivers prepare named statements only and Drizzle names none, so `client.query` is wrapped to add a name. A pooler in
 * transaction mode must support prepared statements (PgBouncer from 1.21 with `max_prepared_statements`; Neon's does).
 */
export function cacheStatements(pool: Pool): void {
  const nameOf = createStatementNamer();
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (first: unknown, ...rest: unknown[]) => unknown;
    client.query = (first: unknown, ...rest: unknown[]) => query(withStatementName(first, nameOf), ...rest);
  });
}

function withStatementName(first: unknown, nameOf: (text: string) => string | undefined): unknown {
  if (typeof first !== "object" || first === null || !("text" in first)) return first;
  const config = first as QueryConfig;
  if (config.name) return config;
  const name = nameOf(config.text);
  return name === undefined ? config : { ...config, name };
}

function createStatementNamer(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text) => {
    const existing = names.get(text);
    if (existing !== undefined || names.size >= MAX_STATEMENTS) return existing;
    const count = (uses.get(text) ?? 0) + 1;
    if (count < MIN_USES) {
      if (uses.size >= MAX_TRACKED_TEXTS) uses.clear();
      uses.set(text, count);
      return undefined;
    }
    uses.delete(text);
    const name = `cached_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}
