import pg from "pg";

/** A statement of a group, and how its caller gets the result. */
export interface Statement {
  config: pg.QueryConfig;
  values: unknown[] | undefined;
  resolve: (result: pg.QueryResult) => void;
  reject: (error: unknown) => void;
}

/** The parts of node-postgres' connection and query that their types leave out. */
interface Connection {
  stream: { cork(): void; uncork(): void };
  submittedNamedStatements: Record<string, string>;
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
type NewQuery = new (
  config: pg.QueryConfig,
  values: unknown[],
  callback: (error: unknown, result: pg.QueryResult) => void,
) => DriverQuery;

/**
 * Several statements that node-postgres sends as one query, before the first is answered. One synchronization point ends them,
 * so that the server skips all that follow one that fails: also a COMMIT, or what a BEGIN should have protected.
 */
export class StatementGroup {
  readonly #queries: DriverQuery[];
  #current = 0;
  /** A value that the driver cannot send. */
  #unsendable: unknown;

  constructor(statements: readonly Statement[]) {
    this.#queries = statements.map(({ config, values = [], resolve, reject }) => {
      const settle = (error: unknown, result: pg.QueryResult) => (error ? reject(error) : resolve(result));
      return new (pg.Query as unknown as NewQuery)(config, values, settle);
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
    const unsynchronized = Object.create(connection, { sync: { value: () => {} } }) as Connection;
    connection.stream.cork();
    try {
      for (const query of this.#queries) {
        query.handleError = (error) => void (this.#unsendable ??= error);
        query.prepare(unsynchronized);
        Reflect.deleteProperty(query, "handleError");
        if (this.#unsendable !== undefined) break;
      }
      connection.sync();
    } finally {
      connection.stream.uncork();
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
    for (const { name } of this.#queries) if (name) delete connection.submittedNamedStatements[name];
    for (const [index, query] of this.#queries.entries())
      if (index < this.#current) query.handleReadyForQuery(connection);
      else query.handleError(error, connection);
  }

  handleReadyForQuery(connection: Connection): void {
    if (this.#current < this.#queries.length) this.handleError(this.#unsendable, connection);
    else for (const query of this.#queries) query.handleReadyForQuery(connection);
  }
}
