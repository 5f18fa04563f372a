/** Renders the templates of the chart: the part of Helm's language that they use. An unknown function or a missing value throws. */
import { globSync } from "node:fs";
import path from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { readProjectFile, ROOT } from "./copy.ts";

type Value = unknown;
type Node = string | { action: string; body: Node[]; otherwise: Node[] };

const CHART = "deploy/helm";
const ACTION = /(\s*)\{\{(-?)\s*([^{}]*?)\s*(-?)\}\}(\s*)/;
const WORD = /"[^"]*"|\S+/g;

const indent = (spaces: number, text: string) => text.replaceAll(/^/gm, " ".repeat(spaces));
const isTrue = (value: Value) => Boolean(value) && !(typeof value === "object" && Object.keys(value as object).length === 0);

/** Splits a template into texts and actions, and removes the space that `-` removes. */
function tokenize(text: string): { text?: string; action?: string }[] {
  const tokens: { text?: string; action?: string }[] = [];
  let rest = text;
  for (let match = ACTION.exec(rest); match; match = ACTION.exec(rest)) {
    const [whole, before, trimsBefore, action, trimsAfter, after] = match;
    tokens.push({ text: rest.slice(0, match.index) + (trimsBefore ? "" : before) }, { action: action! });
    rest = (trimsAfter ? "" : after!) + rest.slice(match.index + whole.length);
  }
  return [...tokens, { text: rest }];
}

/** Builds the tree of blocks. `define` blocks are kept by their names. */
function toTree(text: string, names: Map<string, Node[]>): Node[] {
  const stack: { action: string; body: Node[]; otherwise: Node[] }[] = [{ action: "", body: [], otherwise: [] }];
  for (const token of tokenize(text)) {
    const top = stack.at(-1)!;
    if (token.action === undefined) top.body.push(token.text!);
    else if (/^(if|range|define)\b/.test(token.action)) stack.push({ action: token.action, body: [], otherwise: [] });
    else if (token.action !== "end") top.body.push({ action: token.action, body: [], otherwise: [] });
    else {
      const block = stack.pop()!;
      if (block.action.startsWith("define")) names.set(block.action.slice(8, -1), block.body);
      else stack.at(-1)!.body.push(block);
    }
  }
  if (stack.length !== 1) throw new Error(`A block of the template is not closed: ${stack.at(-1)!.action}`);
  return stack[0]!.body;
}

export function renderChart(values: object, release = "board"): any[] {
  const chart = parse(readProjectFile(`${CHART}/Chart.yaml`));
  const names = new Map<string, Node[]>();
  const defaults = parse(readProjectFile(`${CHART}/values.yaml`));
  const scope = {
    Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
    Release: { Name: release, Service: "Helm" },
    Values: merge(defaults, values),
  };
  const lookUp = (word: string, variables: Record<string, Value>): Value => {
    if (word.startsWith('"')) return word.slice(1, -1);
    if (/^\d+$/.test(word)) return Number(word);
    if (word.startsWith("$")) return variables[word];
    if (word === ".") return scope;
    if (!word.startsWith(".")) throw new Error(`Unknown word of a template: ${word}`);
    return word
      .slice(1)
      .split(".")
      .reduce((from: any, key) => from[key], scope);
  };
  const functions: Record<string, (...args: any[]) => Value> = {
    include: (name: string) => render(names.get(name)!, {}),
    nindent: (spaces: number, text: string) => `\n${indent(spaces, text)}`,
    quote: (value: Value) => JSON.stringify(String(value)),
    default: (fallback: Value, value: Value) => (isTrue(value) ? value : fallback),
    toYaml: (value: Value) => stringify(value).trim(),
    not: (value: Value) => !isTrue(value),
    required(message: string, value: Value) {
      if (!isTrue(value)) throw new Error(message);
      return value;
    },
  };
  const evaluate = (action: string, variables: Record<string, Value>): Value =>
    action.split(" | ").reduce<Value[]>((piped, part) => {
      const [first, ...others] = part.match(WORD)!;
      const run = functions[first!];
      return [run ? run(...others.map((word) => lookUp(word, variables)), ...piped) : lookUp(first!, variables)];
    }, [])[0];
  const render = (nodes: Node[], variables: Record<string, Value>): string =>
    nodes.map((node) => (typeof node === "string" ? node : renderAction(node, variables))).join("");
  function renderAction({ action, body }: Exclude<Node, string>, variables: Record<string, Value>): string {
    if (action.startsWith("if ")) return isTrue(evaluate(action.slice(3), variables)) ? render(body, variables) : "";
    const [, key, value, list] = /^range (\$\w+), (\$\w+) := (\S+)$/.exec(action) ?? [];
    if (!list) return String(evaluate(action, variables));
    const entries = Object.entries(lookUp(list, variables) as object);
    return entries.map(([name, item]) => render(body, { ...variables, [key!]: name, [value!]: item })).join("");
  }
  const files = globSync("templates/*", { cwd: path.join(ROOT, CHART) }).toSorted();
  const trees = files.map((file) => toTree(readProjectFile(`${CHART}/${file}`), names));
  return trees.flatMap((tree) =>
    parseAllDocuments(render(tree, {})).flatMap((document) => {
      if (document.errors.length > 0) throw document.errors[0]!;
      const resource = document.toJS();
      return resource ? [resource] : [];
    }),
  );
}

const merge = (one: any, other: any): any =>
  other && typeof other === "object" && !Array.isArray(other)
    ? Object.fromEntries(
        [...new Set([...Object.keys(one ?? {}), ...Object.keys(other)])].map((key) => [
          key,
          key in other ? merge(one?.[key], other[key]) : one[key],
        ]),
      )
    : other;
