import type pg from "pg";
import type { Db } from "../context/db.ts";
import { type NewQuery, type Statement, StatementGroup } from "./statement-group.ts";

/*
 * Statements of a transaction share round trips. BEGIN waits for the first statement; statements that the code starts at the same
 * time go in one message; `FinalWrites` go with the COMMIT. Outside transactions nothing changes
 * (docs/decisions/query-runtime.md).
 */

type Result = Pick<pg.QueryResult, "command" | "rowCount" | "rows" | "fields">;
type Query = (...args: unknown[]) => unknown;
interface Client {
  query: (...args: never[]) => unknown;
}
interface Pool {
  on(event: "connect", listener: (client: Client) => void): unknown;
}

const pipelinedClients = new WeakSet<object>();

/**
 * Checks whether statements of this transaction that are started at the same time are sent as one message. The embedded database
 * runs them one by one.
 */
export const isPipelined = (db: Db): boolean => {
  const { client } = db._.session as unknown as { client?: object };
  return client !== undefined && pipelinedClients.has(client);
};

/** Makes a pool of node-postgres or of Neon's driver send the statements of a transaction together. */
export function pipelineTransactions(pool: Pool): void {
  pool.on("connect", (client) => {
    const { Query } = client.constructor as unknown as { Query: NewQuery };
    client.query = createPipeline(client.query.bind(client) as Query, Query) as Client["query"];
    pipelinedClients.add(client);
  });
}

const isBegin = (text: string) => text.startsWith("begin");
/**
 * Checks whether a string contains several statements without values. The driver sends it with the simple query protocol, which
 * cannot be part of a group.
 */
const isScript = ({ config, values = [] }: Pick<Statement, "config" | "values">) =>
  values.length === 0 && config.text.includes(";");

function createPipeline(send: Query, DriverQuery: NewQuery): Query {
  /** The BEGIN of a transaction that has not sent any statement yet. It is sent together with the first statement. */
  let begin: Statement | null = null;
  let waiting: Statement[] = [];
  let isOpen = false;
  /** The first error of the transaction. */
  let failure: unknown;

  const sendOne = ({ config, values, resolve, reject }: Statement) =>
    (send(config, values) as Promise<pg.QueryResult>).then(resolve, reject);

  function flush(): void {
    if (waiting.length === 0) return;
    const statements = begin ? [begin, ...waiting] : waiting;
    begin = null;
    waiting = [];
    if (statements.length === 1) void sendOne(statements[0]!);
    else if (statements.some(isScript)) void sendInTurn(statements);
    else send(new StatementGroup(DriverQuery, statements));
  }

  async function sendInTurn(statements: readonly Statement[]): Promise<void> {
    for (const statement of statements)
      if (failure === undefined) await sendOne(statement);
      else statement.reject(failure);
  }

  function add(config: pg.QueryConfig, values: unknown[] | undefined): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const fail = (error: unknown) => {
      failure ??= error;
      reject(error);
    };
    // The server answers the COMMIT of a failed transaction with ROLLBACK, which the driver does not treat as an error.
    const end = (result: Result) => (result.command === "COMMIT" ? resolve(result) : reject(failure ?? rolledBack()));
    waiting.push({ config, values, resolve: config.text === "commit" ? end : resolve, reject: fail });
    return promise;
  }

  /** Ends a transaction that has sent nothing, without a round trip. */
  function endUnsent(command: string): Promise<Result> {
    begin = null;
    return Promise.resolve(toResult(command));
  }

  return (...args) => {
    const [config, values] = args as [pg.QueryConfig, unknown[] | undefined];
    if (!isQueryConfig(args)) {
      flush();
      return send(...args);
    }
    const { text } = config;
    if (!isOpen && !isBegin(text)) return send(...args);
    if (isBegin(text)) {
      [isOpen, failure] = [true, undefined];
      begin = { config, values, resolve: () => {}, reject: (error) => (failure ??= error) };
      return Promise.resolve(toResult("BEGIN"));
    }
    const isUnsent = begin !== null && waiting.length === 0;
    if (text === "commit") {
      isOpen = false;
      if (isUnsent) return endUnsent("COMMIT");
      const committed = add(config, values);
      flush();
      return committed;
    }
    if (text.startsWith("rollback")) {
      isOpen = text !== "rollback";
      if (isUnsent && !isOpen) return endUnsent("ROLLBACK");
      // A rollback is sent alone. In a group, the server would skip it if a statement before it failed.
      flush();
      return send(...args);
    }
    if (waiting.length === 0) process.nextTick(flush);
    return add(config, values);
  };
}

/**
 * Checks whether Drizzle made a call, because only such calls are grouped. Calls with a callback or a query object go to the driver
 * unchanged.
 */
function isQueryConfig([config, values, ...others]: unknown[]): boolean {
  const isConfig =
    typeof config === "object" && config !== null && "text" in config && "types" in config && !("submit" in config);
  return isConfig && (values === undefined || Array.isArray(values)) && others.length === 0;
}

const toResult = (command: string): Result => ({ command, rowCount: null, rows: [], fields: [] });
const rolledBack = () => new Error("The transaction was rolled back, because one of its statements had failed");
