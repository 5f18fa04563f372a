import type { BlockName } from "./text-values.ts";
import type { CountChars } from "./budget.ts";
import type { VariableName } from "./values.ts";

const VARIABLE = /\{\{[ \t]*([a-z0-9_]+)[ \t]*\}\}/g;

/**
 * Replaces each `{{ name }}` by its value. Unknown names stay unchanged, and inserted values are not scanned again, so text that
 * other people wrote cannot trigger a substitution. Every character is counted before the result is built.
 */
export function substitute(text: string, valueOf: (name: string) => string | undefined, count: CountChars): string {
  const parts: string[] = [];
  let end = 0;
  const keep = (to?: number) => {
    const part = text.slice(end, to);
    count(part.length);
    parts.push(part);
  };
  for (const { 0: whole, 1: name = "", index } of text.matchAll(VARIABLE)) {
    const value = valueOf(name);
    if (value === undefined) continue;
    keep(index);
    count(value.length, name);
    parts.push(value);
    end = index + whole.length;
  }
  keep();
  return parts.join("");
}

type NamesIn<T extends string> = T extends `${string}{{ ${infer N} }}${infer Rest}` ? N | NamesIn<Rest> : never;
type UnknownNames<T extends string> = Exclude<NamesIn<T>, VariableName | BlockName>;
type CheckedText<T extends string> = [UnknownNames<T>] extends [never] ? T : `No such variable: ${UnknownNames<T>}`;

declare const checked: unique symbol;
/** A text of the service whose variables all exist. */
export type Template = string & { readonly [checked]: true };

/** Declares a text of the service. A text with an unknown variable does not compile. */
export const template = <const T extends string>(text: CheckedText<T>): Template => text as string as Template;

/**
 * Fills a text of the service. It drops a line whose variables are all empty, so that a text may contain lines about
 * optional values.
 */
export function fillTemplate(
  text: Template,
  values: Readonly<Record<VariableName | BlockName, string>>,
  count: CountChars,
): string {
  const valueOf = (name: string) => values[name as VariableName];
  const lines = text.split("\n").filter((line) => {
    const names = [...line.matchAll(VARIABLE)].map((match) => match[1]!);
    return names.length === 0 || names.some((name) => valueOf(name));
  });
  return substitute(lines.join("\n").replace(/\n{3,}/g, "\n\n"), valueOf, count).trim();
}
