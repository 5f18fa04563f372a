import type { Endpoint } from "./endpoint.ts";

const VERBS: Readonly<Record<Endpoint["method"], string>> = {
  GET: "get",
  POST: "create",
  PATCH: "update",
  PUT: "replace",
  DELETE: "delete",
};

/** Last segments that say what is done rather than what it is done to. */
const DEEDS = [
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

/** Places whose names say more than what is there, or less. */
const KNOWN_AS: readonly (readonly [RegExp, string])[] = [
  [/^organizations\/me\b/, "organization"],
  [/^users\/me$/, "user"],
  [/^skills\/marketplace\b/, "skills"],
  [/^skills\/packs\b/, "skill-packs"],
  [/^souls-directory\b/, "souls"],
];

/** What is a list, though its name is no plural. */
const LISTS = ["activity", "memory"];

/**
 * What generated clients call an operation: verb and noun, such as `list_board_tasks`, unless the table names it.
 * Where the same is served below `/api/v1` and elsewhere too, the other place has a name of its own.
 */
export function operationIdOf({ method, paths, spec }: Pick<Endpoint, "method" | "paths" | "spec">, path: string): string {
  const name = spec.operation_id ?? toName(method, path);
  const elsewhere = !isVersioned(path) && (path.startsWith("/api/") || paths.some(isVersioned));
  return elsewhere ? `${name}_unversioned` : name;
}

const isVersioned = (path: string) => path.startsWith("/api/v1/");

function toName(method: Endpoint["method"], path: string): string {
  const place = path.replace(/^(\/api)?(\/v1)?\//, "");
  const segments = KNOWN_AS.reduce((text, [pattern, name]) => text.replace(pattern, name), place).split("/");
  const agent = segments[0] === "agent" ? segments.splice(0, 1) : [];
  const deed = DEEDS.includes(segments.at(-1)!) ? segments.pop()! : undefined;
  const last = segments.at(-1)!;
  const nouns = segments.flatMap((segment, index) => {
    if (segment.startsWith("{")) return [];
    const isNew = method === "POST" && !deed && segment === last;
    return [isNew || segments[index + 1]?.startsWith("{") ? singular(segment) : segment];
  });
  const verb = deed ?? (method === "GET" && (isPlural(last) || LISTS.includes(last)) ? "list" : VERBS[method]);
  return [...agent, verb, ...nouns].join("_").replaceAll(/[^A-Za-z0-9]+/g, "_");
}

const isPlural = (noun: string) => /[^su]s$/.test(noun);
const singular = (noun: string) => (isPlural(noun) ? noun.slice(0, -1) : noun);
