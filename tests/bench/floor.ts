/**
 * The floor of a figure: the statements of a request, sent by the bare driver over as many connections, without HTTP and
 * without the code of the service. They are read from PostgreSQL's log while the request is sent.
 */
import type { Database } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import pg from "pg";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Matches a log entry: the process of its session, its kind and its text. Continued lines begin with a tab. */
const ENTRY = /^(\d+) (LOG|DETAIL): {2}(.*(?:\n\t.*)*)/gm;
const STATEMENT = /^(?:execute [^:]+|statement): (.*)$/s;
const PARAMETER = /\$\d+ = (?:NULL|'((?:[^']|'')*)')/g;
/** How long to wait until changed settings are in effect and the log has arrived. */
const SETTLE_MS = 300;
/** How long to wait after an answer, so that its last log entries have arrived and its jobs have not logged anything yet. */
const ARRIVAL_MS = 10;

/** The settings of a server whose statements can be recorded. */
export const RECORDABLE = { log_line_prefix: "%p ", log_parameter_max_length: "-1" };

interface Statement {
  text: string;
  values: (string | null)[];
}

export interface FloorRun {
  connections: number;
  /** How many times to send the statements. */
  requests: number;
  /** Ids that replace the id of the row that the request changes, so that connections do not wait for each other's row locks. */
  rows?: readonly string[];
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Records the statements of a request twice. Ids that are new in the second recording differ with each request. */
export async function recordStatements(
  db: Database["db"],
  log: { text: string },
  request: () => Promise<unknown>,
): Promise<{ statements: Statement[]; chosen: string[] }> {
  const logAll = async (is_on: boolean) => {
    await db.execute(sql.raw(`alter system set log_statement = '${is_on ? "all" : "none"}'`));
    await db.execute(sql`select pg_reload_conf()`);
    await pause(SETTLE_MS);
  };
  const record = async () => {
    log.text = "";
    await request();
    await pause(ARRIVAL_MS);
    const statements = readLog(log.text);
    await pause(SETTLE_MS);
    return statements;
  };
  await request();
  await logAll(true);
  const before = new Set(JSON.stringify(await record()).match(UUID));
  const statements = await record();
  await logAll(false);
  const ids = new Set(JSON.stringify(statements).match(UUID) ?? []);
  return { statements, chosen: [...ids].filter((id) => !before.has(id)) };
}

/**
 * Returns the statements of the request: the statements of the busiest session, up to the first lease of a job. After that, the
 * session runs the jobs of the request.
 */
function readLog(log: string): Statement[] {
  const sessions = new Map<string, Statement[]>();
  for (const [, session, kind, lines] of log.matchAll(ENTRY)) {
    const statements = sessions.get(session!) ?? [];
    sessions.set(session!, statements);
    const text = lines!.replaceAll("\n\t", "\n");
    if (kind === "DETAIL") statements.at(-1)?.values.push(...readValues(text));
    else if (STATEMENT.test(text)) statements.push({ text: STATEMENT.exec(text)![1]!, values: [] });
  }
  const ofRequests = [...sessions.values()].map((statements) => {
    const lease = statements.findIndex(({ text }) => text.startsWith('update "jobs"'));
    return lease === -1 ? statements : statements.slice(0, lease);
  });
  return ofRequests.toSorted((one, other) => other.length - one.length)[0] ?? [];
}

const readValues = (detail: string): (string | null)[] =>
  [...detail.matchAll(PARAMETER)].map(([, value]) => value?.replaceAll("''", "'") ?? null);

/** Finds the id that the database chose for an inserted row: the first id in later statements that no earlier statement has. */
function findReturnedId(statements: readonly Statement[], index: number, chosen: readonly string[]): string | undefined {
  if (!/^insert .* returning "id"/s.test(statements[index]!.text)) return undefined;
  const given = JSON.stringify(statements.slice(0, index + 1));
  const later = JSON.stringify(statements.slice(index + 1));
  return chosen.find((id) => later.includes(id) && !given.includes(id));
}

/** Sends the statements again and again, and returns how many times a second. */
export async function sendStatements(
  url: string,
  { statements, chosen }: { statements: readonly Statement[]; chosen: readonly string[] },
  { connections, requests, rows = [] }: FloorRun,
): Promise<number> {
  let sent = 0;
  const changed = JSON.stringify(statements)
    .match(UUID)
    ?.find((id) => rows.includes(id));
  const returnedIds = statements.map((_statement, index) => findReturnedId(statements, index, chosen));
  const send = async (client: pg.Client, n: number) => {
    const replaced = new Map(chosen.map((id) => [id, crypto.randomUUID() as string]));
    if (changed !== undefined) replaced.set(changed, rows[n % rows.length]!);
    for (const [index, { text, values }] of statements.entries()) {
      const given = values.map((value) => value?.replaceAll(UUID, (id) => replaced.get(id) ?? id) ?? null);
      const { rows } = await client.query(given.length === 0 ? text : { name: `statement ${index}`, text, values: given });
      const returned = returnedIds[index];
      if (returned !== undefined) replaced.set(returned, (rows as { id: string }[])[0]!.id);
    }
  };
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client(url);
      await client.connect();
      return client;
    }),
  );
  try {
    for (const client of clients) await send(client, sent++);
    const start = performance.now();
    const end = sent + requests;
    const work = async (client: pg.Client) => {
      while (sent < end) await send(client, sent++);
    };
    await Promise.all(clients.map(work));
    return (requests * 1000) / (performance.now() - start);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
