/*
 * The server plans a named statement once per connection; `cacheStatements` names frequent ones unless PREPARED_STATEMENTS=off.
 * With `inlineLimit` and `selectInputs`, one plan fits all values. The SQL that Drizzle builds only once is in prepared.ts.
 */

/**
 * How often a statement is used before it gets a name. Rare statements, such as a list of unusual length, are not worth a plan.
 */
const MIN_USES = 5;
/**
 * The maximum number of named statements. For each, the server keeps a plan of tens of kilobytes in the memory of every
 * connection.
 */
const MAX_STATEMENTS = 300;
const MAX_TRACKED_TEXTS = 3_000;

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
 * Makes a pool prepare frequent statements. The drivers prepare only named statements and Drizzle names none, so `client.query`
 * is wrapped to add a name. Poolers in transaction mode must support this (PgBouncer from 1.21 with `max_prepared_statements`;
 * Neon's does).
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
