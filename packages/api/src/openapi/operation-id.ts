import type { Endpoint } from "../endpoint.ts";

const VERBS: Readonly<Record<Endpoint["method"], string>> = {
  GET: "get",
  POST: "create",
  PATCH: "update",
  PUT: "replace",
  DELETE: "delete",
};

/** Last path segments that are actions rather than resources. */
const ACTION_SEGMENTS = [
  "accept",
  "answer",
  "confirm",
  "heartbeat",
  "install",
  "message",
  "search",
  "start",
  "stream",
  "sync",
  "uninstall",
];

/** Path prefixes whose segments do not match the resource name. */
const PATH_ALIASES: readonly (readonly [RegExp, string])[] = [
  [/^organizations\/me\b/, "organization"],
  [/^users\/me$/, "user"],
  [/^skills\/marketplace\b/, "skills"],
  [/^skills\/packs\b/, "skill-packs"],
  [/^souls-directory\b/, "souls"],
];

/** Resources that are lists although their names are singular. */
const SINGULAR_LISTS = ["activity", "memory"];

/**
 * Returns the operation's name in generated clients, unless the endpoint sets one. It is a verb and a noun, such as
 * `list_board_tasks`. An operation that is also served outside of `/api/v1` gets the suffix `_unversioned` there.
 */
export function operationIdOf({ method, paths, spec }: Pick<Endpoint, "method" | "paths" | "spec">, path: string): string {
  const name = spec.operation_id ?? toOperationName(method, path);
  return isUnversionedTwin({ paths }, path) ? `${name}_unversioned` : name;
}

/**
 * Returns whether this path is outside of `/api/v1`, while the operation also has a path under `/api/v1`, which clients should use.
 */
export const isUnversionedTwin = ({ paths }: Pick<Endpoint, "paths">, path: string): boolean =>
  !isVersioned(path) && (path.startsWith("/api/") || paths.some(isVersioned));

const isVersioned = (path: string) => path.startsWith("/api/v1/");

function toOperationName(method: Endpoint["method"], path: string): string {
  const place = path.replace(/^(\/api)?(\/v1)?\//, "");
  const segments = PATH_ALIASES.reduce((text, [pattern, name]) => text.replace(pattern, name), place).split("/");
  const agent = segments[0] === "agent" ? segments.splice(0, 1) : [];
  const action = ACTION_SEGMENTS.includes(segments.at(-1)!) ? segments.pop()! : undefined;
  const last = segments.at(-1)!;
  const nouns = segments.flatMap((segment, index) => {
    if (segment.startsWith("{")) return [];
    const isNew = method === "POST" && !action && segment === last;
    return [isNew || segments[index + 1]?.startsWith("{") ? singular(segment) : segment];
  });
  const verb = action ?? (method === "GET" && (isPlural(last) || SINGULAR_LISTS.includes(last)) ? "list" : VERBS[method]);
  return [...agent, verb, ...nouns].join("_").replaceAll(/[^A-Za-z0-9]+/g, "_");
}

const isPlural = (noun: string) => /[^su]s$/.test(noun);
const singular = (noun: string) => (isPlural(noun) ? noun.slice(0, -1) : noun);
