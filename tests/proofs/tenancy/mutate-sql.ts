/** Columns that identify an owner: an organization, board, gateway, person or agent, or a parent row. */
const COLUMNS =
  "organization_id|board_id|gateway_id|user_id|organization_member_id|member_id|board_group_id|agent_id|webhook_id|pack_id|subscription_id";
const OWNED = String.raw`(?:"?\w+"?\.)?"?\b(?:${COLUMNS})\b"?`;
const VALUE = String.raw`(?:\$\d+(?:::\w+)?|(?:"?\w+"?\.)?"?\w+"?)(?![\w".(])`;
const LIST = String.raw`\((?:[^()]|\([^()]*\))*\)`;
const COMPARISON = String.raw`(?<![\w".])${OWNED} (?:= (?:any ?${LIST}|${LIST}|${VALUE})|in ${LIST})`;
/** A search for words. Digits of the owner's id precede each word: see `searchVector`, `wordsVector` and `rowsWithWords`. */
const SEARCH = String.raw`array_to_tsvector\((?:(?! @@ ).)*\) @@ (?:\(select )?lower\(\$\d+::text\)::tsquery\b`;
const CONDITION = new RegExp(`${COMPARISON}|${SEARCH}`, "gs");

/** A condition that separates tenants, boards or people, with its position in a statement. */
export interface OwnerCondition {
  statement: string;
  text: string;
  /** The positions in the statement: one, or two if the statement of a list repeats the condition to count the list. */
  at: readonly number[];
  /**
   * Conditions that come from the same code share a name: conditions in statements that differ only in the number of parameters,
   * and conditions of a subselect that several statements contain.
   */
  name: string;
}

/** Finds comparisons of such columns and searches, but not the values that an insert or an update writes. */
export function findOwnerConditions(statement: string): readonly OwnerCondition[] {
  const known = cache.get(statement);
  if (known) return known;
  const found: (OwnerCondition & { around: string; at: number[] })[] = [];
  for (const { 0: text, index } of [...statement.matchAll(CONDITION)].toReversed()) {
    if (isAssignment(statement, index)) continue;
    const { from, within } = subselectAt(statement, index);
    const around = shapeOf(statement.slice(index - 12, index + text.length + 1));
    const listed = within.startsWith("(select count(*)") && found.find((condition) => condition.around === around);
    if (listed) {
      listed.at.push(index);
      continue;
    }
    const place = [...within.matchAll(CONDITION)].findIndex((match) => from + match.index === index);
    found.push({ statement, text, at: [index], around, name: `${shapeOf(text)} (${place + 1}) in ${shapeOf(within)}` });
  }
  cache.set(statement, found);
  return found;
}
const cache = new Map<string, readonly OwnerCondition[]>();

/** Returns the innermost subselect around a position, or the statement. */
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

/** Removes the numbers of parameters and shortens lists to one element. */
const shapeOf = (statement: string): string =>
  statement
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\$\d+/g, "$")
    .replaceAll(/\$(?:, \$)+/g, "$")
    .replaceAll(/(\([$, a-z:"_]*\)|\(default[^()]*\))(?:, ?\1)+/g, "$1")
    .trim();

/** Checks whether a position is in the assignments of `update … set a = $1, b = $2 where …`. */
function isAssignment(statement: string, at: number): boolean {
  const before = statement.slice(0, at);
  const set = before.toLowerCase().lastIndexOf(" set ");
  return set >= 0 && !/\s(where|from|returning|select)\s/i.test(before.slice(set));
}

/** Makes conditions of a statement always true, lets searches find the words of all owners, and keeps the parameters. */
export function removeConditions(statement: string, conditions: readonly OwnerCondition[]): string {
  const places = conditions.flatMap(({ at, text }) => at.map((from) => ({ from, length: text.length })));
  return places
    .toSorted((a, b) => b.from - a.from)
    .reduce((left, { from, length }) => {
      const end = from + length;
      return `${left.slice(0, from)}${withoutOwner(left.slice(from, end))}${left.slice(end)}`;
    }, statement);
}

/** Checks whether a condition is a search for words. */
export const isSearch = ({ text }: Pick<OwnerCondition, "text">): boolean => text.startsWith("array_to_tsvector(");

const withoutOwner = (text: string): string =>
  isSearch({ text })
    ? text
        .replaceAll(/ \|\| left\([\w".]+::text, 8\) \|\| '\/'/g, " || '/'")
        .replace(/lower\(\$\d+::text\)/, "regexp_replace($&, '[0-9a-f]{8}/', '/', 'g')")
    : `(${text} or true)`;
