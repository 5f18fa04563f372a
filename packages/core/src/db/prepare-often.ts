import { sql } from "drizzle-orm";

const FOR_ITS_VALUES = "/* planned for its values */";
/** A use of a text before it gets a name: what comes once is not worth keeping, a list's many lengths least of all. */
const USES = 5;
/** Each name is a plan in every connection's memory, tens of kilobytes. */
const MAX_NAMES = 300;
const MAX_COUNTED = 3_000;

/**
 * Begins a statement whose plan hangs on its values, such as a range of time: one plan for all of them was seen to make
 * dashboards twice as slow, and beside the work of such a statement planning it is nothing.
 */
export const forItsValues = sql.raw(FOR_ITS_VALUES);

interface Client {
  query: (...given: never[]) => unknown;
}
interface Pool {
  on(event: "connect", listener: (client: Client) => void): unknown;
}
interface Config {
  text: string;
  name?: string | undefined;
}

/**
 * Lets a pool's connections keep the plans of statements that come again and again. Planning is the larger part of what
 * PostgreSQL does for a look-up with a few joins, and without a name it is done anew each time. The drivers know prepared
 * statements by name, and Drizzle names none; so a statement is given one here, once it has proved to come often. A pooler
 * in transaction mode must carry prepared statements over (PgBouncer from 1.21, `max_prepared_statements`), as Neon's does.
 */
export function prepareOften(pool: Pool): void {
  const nameOf = statementNames();
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (first: unknown, ...rest: unknown[]) => unknown;
    client.query = (first: unknown, ...rest: unknown[]) => query(named(first, nameOf), ...rest);
  });
}

function named(first: unknown, nameOf: (text: string) => string | undefined): unknown {
  if (typeof first !== "object" || first === null || !("text" in first)) return first;
  const config = first as Config;
  if (config.name) return config;
  const name = nameOf(config.text);
  return name === undefined ? config : { ...config, name };
}

function statementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MAX_NAMES || text.trimStart().startsWith(FOR_ITS_VALUES)) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (count < USES) {
      if (uses.size >= MAX_COUNTED) uses.clear();
      uses.set(text, count);
      return undefined;
    }
    uses.delete(text);
    const name = `often_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}
