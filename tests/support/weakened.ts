import pg from "pg";

/** Columns that say whose something is: by organization, board, gateway, person or agent, or by what it is a part of. */
const COLUMNS =
  "organization_id|board_id|gateway_id|user_id|organization_member_id|member_id|board_group_id|agent_id|webhook_id|pack_id";
const OWNED = String.raw`(?:"?\w+"?\.)?"?\b(?:${COLUMNS})\b"?`;
const VALUE = String.raw`(?:\$\d+(?:::\w+)?|(?:"?\w+"?\.)?"?\w+"?)(?![\w".(])`;
const LIST = String.raw`\((?:[^()]|\([^()]*\))*\)`;
const CONDITION = new RegExp(String.raw`(?<![\w".])${OWNED} (?:= (?:any ?${LIST}|${LIST}|${VALUE})|in ${LIST})`, "g");

/** One condition that keeps tenants, boards or people apart, where it stands in a statement. */
export interface Condition {
  statement: string;
  text: string;
  /** Where it stands: once, or in what counts a list too. */
  at: readonly number[];
  /**
   * The same for statements that differ in the number of their parameters alone, and for a subselect that stands in several
   * statements: code writes it once.
   */
  name: string;
}

/** A column compared with a value or with another column: not what an insert or an update writes. */
export function conditionsOf(statement: string): readonly Condition[] {
  const known = KNOWN.get(statement);
  if (known) return known;
  const found: (Condition & { around: string; at: number[] })[] = [];
  for (const { 0: text, index } of [...statement.matchAll(CONDITION)].toReversed()) {
    if (inSet(statement, index)) continue;
    const { from, within } = subselectAt(statement, index);
    const around = shapeOf(statement.slice(index - 12, index + text.length + 1));
    const listed = within.startsWith("(select count(*)") && found.find((one) => one.around === around);
    if (listed) {
      listed.at.push(index);
      continue;
    }
    const place = [...within.matchAll(CONDITION)].findIndex((one) => from + one.index === index);
    found.push({ statement, text, at: [index], around, name: `${shapeOf(text)} (${place + 1}) in ${shapeOf(within)}` });
  }
  KNOWN.set(statement, found);
  return found;
}
const KNOWN = new Map<string, readonly Condition[]>();

/** The innermost subselect that holds a place, or the statement. */
function subselectAt(statement: string, at: number): { from: number; within: string } {
  for (let from = at, open = 0; from >= 0; from--) {
    if (statement[from] === ")") open++;
    else if (statement[from] === "(" && open > 0) open--;
    else if (statement[from] === "(" && /^\(\s*select\b/i.test(statement.slice(from, from + 40)))
      return { from, within: statement.slice(from, closing(statement, from) + 1) };
  }
  return { from: 0, within: statement };
}

function closing(statement: string, from: number): number {
  let open = 0;
  for (let at = from; at < statement.length; at++) {
    if (statement[at] === "(") open++;
    else if (statement[at] === ")" && --open === 0) return at;
  }
  return statement.length;
}

/** Without the numbers of parameters, and lists of any length as one. */
const shapeOf = (statement: string): string =>
  statement
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\$\d+/g, "$")
    .replaceAll(/\$(?:, \$)+/g, "$")
    .replaceAll(/(\([$, a-z:"_]*\)|\(default[^()]*\))(?:, ?\1)+/g, "$1")
    .trim();

/** `update … set a = $1, b = $2 where …`: what is written, not what is asked. */
function inSet(statement: string, at: number): boolean {
  const before = statement.slice(0, at);
  const set = before.toLowerCase().lastIndexOf(" set ");
  return set >= 0 && !/\s(where|from|returning|select)\s/i.test(before.slice(set));
}

/** The same statement, in which the conditions hold always; its parameters stay, so that the values still fit. */
export function weaken(statement: string, conditions: readonly Condition[]): string {
  const places = conditions.flatMap(({ at, text }) => at.map((from) => ({ from, length: text.length })));
  return places
    .toSorted((one, other) => other.from - one.from)
    .reduce((left, { from, length }) => {
      const end = from + length;
      return `${left.slice(0, from)}(${left.slice(from, end)} or true)${left.slice(end)}`;
    }, statement);
}

type Query = (this: pg.Client, ...given: unknown[]) => unknown;

/** Sees every statement that this process sends through node-postgres, and may send another one in its place. */
export function interceptStatements(replace: (text: string) => string): () => void {
  const original = Reflect.get(pg.Client.prototype, "query") as Query;
  const intercepted: Query = function (first, ...rest) {
    if (typeof first === "string") return original.call(this, replace(first), ...rest);
    const query = first as { text?: unknown };
    return typeof query.text === "string"
      ? original.call(this, { ...query, text: replace(query.text) }, ...rest)
      : original.call(this, first, ...rest);
  };
  Reflect.set(pg.Client.prototype, "query", intercepted);
  return () => void Reflect.set(pg.Client.prototype, "query", original);
}
