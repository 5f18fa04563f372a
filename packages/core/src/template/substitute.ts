import type { BlockName } from "./blocks.ts";
import type { Name } from "./values.ts";

const VARIABLE = /\{\{[ \t]*([a-z0-9_]+)[ \t]*\}\}/g;

/**
 * Puts values in the place of `{{ name }}`. A name that `valueOf` does not know stays as it stands, and what is put in is
 * not looked at again: this is no language, and text of others can do nothing in it.
 */
export const substitute = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.replace(VARIABLE, (whole, name: string) => valueOf(name) ?? whole);

type NamesIn<T extends string> = T extends `${string}{{ ${infer N} }}${infer Rest}` ? N | NamesIn<Rest> : never;
type Unknown<T extends string> = Exclude<NamesIn<T>, Name | BlockName>;
type Checked<T extends string> = [Unknown<T>] extends [never] ? T : `No such variable: ${Unknown<T>}`;

declare const checked: unique symbol;
/** A text of ours whose variables all exist. */
export type Template = string & { readonly [checked]: true };

/** Takes a text of ours: one with a variable that does not exist does not compile. */
export const template = <const T extends string>(text: Checked<T>): Template => text as string as Template;

/**
 * Fills a text of ours. A line goes when it has variables and all of them are empty, so that a text can speak of things
 * that are not always there.
 */
export function fill(text: Template, values: Readonly<Record<Name | BlockName, string>>): string {
  const valueOf = (name: string) => values[name as Name];
  const lines = text.split("\n").filter((line) => {
    const names = [...line.matchAll(VARIABLE)].map((match) => match[1]!);
    return names.length === 0 || names.some((name) => valueOf(name));
  });
  return substitute(lines.join("\n").replace(/\n{3,}/g, "\n\n"), valueOf).trim();
}
