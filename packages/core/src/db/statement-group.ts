import type pg from "pg";

/** A statement of a group, and how its caller gets the result. */
export interface Statement {
  config: pg.QueryConfig;
  values: unknown[] | undefined;
  resolve: (result: pg.QueryResult) => void;
  reject: (error: unknown) => void;
}

/** The parts of the drivers' connection and query that their types leave out. Neon's driver is an older node-postgres. */
interface Connection {
  /** The socket. That of Neon's driver sends what is written in one turn of the event loop as one message. */
  stream: { cork?(): void; uncork?(): void };
  /** Named statements that the server has parsed. */
  parsedStatements: Record<string, string>;
  /** Those that were sent as well. Neon's driver has none. */
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
/** The class of a driver's queries. */
export type NewQuery = new (
  config: pg.QueryConfig,
  values: unknown[],
  callback: (error: unknown, result: pg.QueryResult) => void,
) => DriverQuery;

/**
 * Several statements that the driver sends as one query, before the first is answered. One synchronization point ends them,
 * so that the server skips all that follow one that fails: also a COMMIT, or what a BEGIN should have protected.
 */
export class StatementGroup {
  readonly #queries: DriverQuery[];
  #current = 0;
  /** A value that the driver cannot send. */
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

  /** The driver keeps the names of parsed statements. */
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

  /** Statements after the failed one were not run, and fail with its error. */
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

/** The connection without synchronization points. A name that it sends is known to the rest of the group alone. */
function toUnsynchronized(connection: Connection): Connection {
  const { parsedStatements, submittedNamedStatements = {} } = connection;
  return Object.create(connection, {
    sync: { value: () => {} },
    parsedStatements: { value: Object.create(parsedStatements) },
    submittedNamedStatements: { value: Object.create(submittedNamedStatements) },
  }) as Connection;
}
