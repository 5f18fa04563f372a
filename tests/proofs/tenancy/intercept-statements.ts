import pg from "pg";

/** The part of node-postgres' connection that sends SQL and receives its results. */
interface Connection {
  query: (this: unknown, text: string) => void;
  parse: (this: unknown, statement: { text: string }) => void;
  bind: (this: unknown, config: { values?: readonly unknown[] }) => void;
  emit?: (this: unknown, name: string, message?: Message) => boolean;
}

interface Message {
  fields?: readonly unknown[];
  text?: string;
}

/** Receives the traffic with the database. `text` is the statement before it was replaced. */
export interface StatementListener {
  onValues: (text: string, values: readonly unknown[]) => void;
  /** A row, or how many rows the statement has changed. */
  onResult: (text: string, result: unknown) => void;
}

const SILENT: StatementListener = { onValues: () => {}, onResult: () => {} };

/** Intercepts every statement that this process sends through node-postgres, and may replace it. */
export function interceptStatements(replace: (text: string) => string, { onValues, onResult } = SILENT): () => void {
  const connection = pg.Connection.prototype as unknown as Connection;
  const { query, parse, bind, emit } = connection;
  /** The statements whose results have not arrived, by socket: statements that are sent together use a copy of the connection. */
  const waiting = new WeakMap<object, string[]>();
  const waitingOn = (connection: unknown): string[] => {
    const { stream } = connection as { stream: object };
    const texts = waiting.get(stream) ?? [];
    waiting.set(stream, texts);
    return texts;
  };
  const begin = (connection: unknown, text: string): string => {
    waitingOn(connection).push(text);
    return replace(text);
  };
  connection.query = function (text) {
    const replaced = begin(this, text);
    onValues(text, []);
    query.call(this, replaced);
  };
  connection.parse = function (statement) {
    parse.call(this, { ...statement, text: begin(this, statement.text) });
  };
  connection.bind = function (config) {
    const text = waitingOn(this).at(-1);
    if (text !== undefined) onValues(text, config.values ?? []);
    bind.call(this, config);
  };
  connection.emit = function (name, message) {
    const texts = waitingOn(this);
    if (name === "dataRow" && texts.length > 0) onResult(texts[0]!, message!.fields);
    if (name === "commandComplete" && texts.length > 0) onResult(texts.shift()!, message!.text);
    // Statements that were sent together are skipped after an error.
    if (name === "readyForQuery") texts.length = 0;
    return emit!.call(this, name, message);
  };
  return () => {
    Object.assign(connection, { query, parse, bind });
    // Without the override, calls reach the method of the base class again.
    delete connection.emit;
  };
}
