import type pg from "pg";

/** A statement of a group, with the callbacks that return its result. */
export interface Statement {
  config: pg.QueryConfig;
  values: unknown[] | undefined;
  resolve: (result: pg.QueryResult) => void;
  reject: (error: unknown) => void;
}

/** Members of the drivers' connection and query that their types leave out. Neon's driver contains an older node-postgres. */
interface Connection {
  /** The socket. Neon's socket has no `cork`: it sends all writes of one iteration of the event loop as one message. */
  stream: { cork?(): void; uncork?(): void };
  /** The SQL of the statements that the server has parsed, by name. */
  parsedStatements: Record<string, string>;
  /** The SQL of the statements that were sent but not answered, by name. Neon's driver does not have this. */
  submittedNamedStatements?: Record<string, string>;
  sync(): void;
  sendCopyFail(reason: string): void;
}
interface DriverQuery {
  name?: string;
  text: string;
  prepare(connection: Connection): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}
/** The driver's own query class. */
export type NewQuery = new (
  config: pg.QueryConfig,
  values: unknown[],
  callback: (error: unknown, result: pg.QueryResult) => void,
) => DriverQuery;

/**
 * Several statements that the driver treats as one query and sends before the first is answered. They end with one Sync message,
 * so if a statement fails, the server skips the rest, including a COMMIT.
 */
export class StatementGroup {
  readonly #queries: DriverQuery[];
  #current = 0;
  /** The error of a value that the driver could not encode. */
  #unsendable: unknown;

  constructor(Query: NewQuery, statements: readonly Statement[]) {
    this.#queries = statements.map(({ config, values = [], resolve, reject }) => {
      const settle = (error: unknown, result: pg.QueryResult) => (error ? reject(error) : resolve(result));
      return new Query(config, values, settle);
    });
  }

  get texts(): string[] {
    return this.#queries.map(({ text }) => text);
  }

  /** Returns the name of the current statement. The driver reads `name` and `text` to remember which statements are parsed. */
  get name(): string | undefined {
    return this.#queries[this.#current]?.name;
  }
  get text(): string | undefined {
    return this.#queries[this.#current]?.text;
  }

  submit(connection: Connection): null {
    const unsynchronized = toUnsynchronized(connection);
    connection.stream.cork?.();
    try {
      for (const query of this.#queries) {
        query.handleError = (error) => void (this.#unsendable ??= error);
        query.prepare(unsynchronized);
        Reflect.deleteProperty(query, "handleError");
        if (this.#unsendable !== undefined) break;
        if (query.name) unsynchronized.parsedStatements[query.name] = query.text;
      }
      connection.sync();
    } finally {
      connection.stream.uncork?.();
    }
    return null;
  }

  handleRowDescription(message: unknown): void {
    this.#queries[this.#current]?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#queries[this.#current]?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#queries[this.#current++]?.handleCommandComplete(message, connection);
  }

  handleEmptyQuery(): void {
    this.#current++;
  }

  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail("No source stream defined");
  }

  handleCopyData(): void {}

  /** Rejects the failed statement and all later ones with this error, because the server did not run the later ones. */
  handleError(error: unknown, connection: Connection): void {
    for (const [index, query] of this.#queries.entries())
      if (index < this.#current) query.handleReadyForQuery(connection);
      else query.handleError(error, connection);
  }

  handleReadyForQuery(connection: Connection): void {
    if (this.#current < this.#queries.length) this.handleError(this.#unsendable, connection);
    else for (const query of this.#queries) query.handleReadyForQuery(connection);
  }
}

/**
 * Returns the connection without Sync messages. It remembers the statement names sent in this group, because the real connection
 * records a name only when the server has parsed the statement.
 */
function toUnsynchronized(connection: Connection): Connection {
  const { parsedStatements, submittedNamedStatements = {} } = connection;
  return Object.create(connection, {
    sync: { value: () => {} },
    parsedStatements: { value: Object.create(parsedStatements) },
    submittedNamedStatements: { value: Object.create(submittedNamedStatements) },
  }) as Connection;
}
