/** A rendered graph of resources and queries on it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../support/bundle.ts";
import type { Resource } from "./mocks.ts";
import { folderOf, type VariantName } from "./variants.ts";

/** Pulumi's key for a wrapped value. Here every wrapped value is a secret. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";

function mapSecrets<Value>(value: Value, map: (content: unknown) => unknown): Value {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    if (node === null || typeof node !== "object") return node;
    if (SIGNATURE in node && "value" in node) return map(node.value);
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, walk(child)]));
  };
  return walk(value) as Value;
}
const opened = <Value>(value: Value): Value => mapSecrets(value, opened);
const hidden = <Value>(value: Value): Value => mapSecrets(value, () => "(secret)");

export interface Statement {
  /** The role that the statement belongs to. */
  role: string;
  actions: string[];
  resources: string[];
}

export type Graph = ReturnType<typeof graphOf>;

export function graphOf(variant: VariantName) {
  const file = path.join(root, folderOf(variant), "graph.json");
  const { app, resources: sealed } = JSON.parse(readFileSync(file, "utf8")) as {
    app: Record<string, unknown>;
    resources: Resource[];
  };
  const resources = opened(sealed);
  const all = (type: string) => resources.filter((resource) => resource.type === type);
  const functions = () => all("aws:lambda/function:Function");
  const functionOf = (name: string) => functions().find((resource) => resource.name === `${name}Function`) as Resource;

  return {
    /** The result of `app()` in sst.config.ts. */
    app,
    resources,
    /** The resources without the values of secrets. */
    readable: hidden(sealed),
    all,
    functions,
    functionOf,
    variablesOf: (resource: Resource): Record<string, string> => resource.inputs.environment.variables,
    consumersOf: (queue: string) => functions().filter(({ name }) => name.startsWith(`${queue}Subscriber`)),
    queues: () => all("aws:sqs/queue:Queue"),
    alarms: () => all("aws:cloudwatch/metricAlarm:MetricAlarm"),
    /** Returns the statements of all inline policies. */
    allowed: (): Statement[] =>
      all("aws:iam/role:Role").flatMap(({ inputs }) =>
        ((inputs.inlinePolicies ?? []) as { policy: string }[]).flatMap(({ policy }) =>
          (JSON.parse(policy) as { Statement: Statement[] }).Statement.map((statement) => ({ ...statement, role: inputs.name })),
        ),
      ),
    /** Returns the names of the functions that have one of the statements. */
    functionsWith: (statements: readonly Statement[]) =>
      functions()
        .filter(({ inputs }) => statements.some(({ role }) => inputs.role.endsWith(role)))
        .map(({ name }) => name),
  };
}

/** Returns the only resource whose name is at the end of the reference (an ARN, a URL or a name). */
export function findResource(resources: readonly Resource[], reference: string): Resource {
  const matches = resources.filter(({ name, inputs }) => reference.endsWith(inputs.name ?? name));
  if (matches.length !== 1) throw new Error(`${matches.length} resources match ${reference}`);
  return matches[0] as Resource;
}

/** Converts `board-groups` to `BoardGroups`, the form of component names. */
export const capitalized = (name: string) => name.replaceAll(/(?:^|-)(.)/g, (_match, first: string) => first.toUpperCase());

/** Sorts names, so that lists can be compared. */
export const sorted = (names: readonly string[]) => names.toSorted((a, b) => a.localeCompare(b));
