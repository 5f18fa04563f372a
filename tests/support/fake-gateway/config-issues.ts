import type { Json, JsonObject } from "./config.ts";
import { objectOf } from "./config.ts";
import type { Dialect } from "./dialect.ts";

/** A problem of a configuration. */
export interface Issue {
  path: string;
  message: string;
}

const rootKeys = toKeySet(
  "meta gateway agents channels tools models update discovery plugins logging session messages commands hooks env auth skills " +
    "cron web ui browser bindings broadcast",
);
const entryKeys = toKeySet(
  "id name workspace agentDir heartbeat model identity default groupChat tools sandbox subagents skills memorySearch humanDelay",
);
const heartbeatKeys = toKeySet("every activeHours model session target to accountId prompt includeReasoning ackMaxChars");

/** Validates the strict part of the schema: the root, agent entries and heartbeats. `refusedKeys` count as unrecognized. */
export function validateConfig(config: JsonObject, dialect: Dialect, refusedKeys: readonly string[]): Issue[] {
  const agents = objectOf(config.agents);
  const roster: [string, Json][] =
    dialect.agents === "list"
      ? (Array.isArray(agents.list) ? agents.list : []).map((entry, position) => [`agents.list.${position}`, entry])
      : Object.entries(objectOf(agents.entries)).map(([id, entry]) => [`agents.entries.${id}`, entry]);
  const omitKeys = (known: ReadonlySet<string>, unknown: readonly string[]) =>
    new Set([...known].filter((key) => !unknown.includes(key)));
  const entry = omitKeys(entryKeys, refusedKeys);
  const heartbeat = omitKeys(heartbeatKeys, [...refusedKeys, ...dialect.refused_heartbeat_keys]);
  return [
    ...unrecognizedKeyIssues("", config, rootKeys),
    ...unrecognizedKeyIssues("agents", agents, new Set(["defaults", dialect.agents])),
    ...(dialect.protocol === 4 && "heartbeat" in objectOf(objectOf(config.channels).defaults)
      ? [{ path: "channels.defaults", message: 'Unrecognized key: "heartbeat"' }]
      : []),
    ...roster.flatMap(([path, value]) => entryIssues(path, objectOf(value), dialect, entry, heartbeat)),
  ];
}

function entryIssues(
  path: string,
  entry: JsonObject,
  dialect: Dialect,
  known: ReadonlySet<string>,
  heartbeatKnown: ReadonlySet<string>,
): Issue[] {
  const heartbeat = objectOf(entry.heartbeat);
  const found = [
    ...unrecognizedKeyIssues(path, entry, known),
    ...unrecognizedKeyIssues(`${path}.heartbeat`, heartbeat, heartbeatKnown),
  ];
  const expectType = (at: string, value: Json | undefined, type: string): void => {
    if (value !== undefined && typeof value !== type) found.push({ path: at, message: `Invalid input: expected ${type}` });
  };
  if (dialect.agents === "list" && typeof entry.id !== "string")
    found.push({ path: `${path}.id`, message: "Invalid input: expected string" });
  expectType(`${path}.workspace`, entry.workspace, "string");
  expectType(`${path}.heartbeat`, entry.heartbeat, "object");
  expectType(`${path}.heartbeat.target`, heartbeat.target, "string");
  expectType(`${path}.heartbeat.includeReasoning`, heartbeat.includeReasoning, "boolean");
  if (
    heartbeat.every !== undefined &&
    !(typeof heartbeat.every === "string" && /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))*(?:\d+(?:\.\d+)?)?$/.test(heartbeat.every || "?"))
  ) {
    found.push({ path: `${path}.heartbeat.every`, message: "invalid duration (use ms, s, m, h)" });
  }
  return found;
}

function unrecognizedKeyIssues(path: string, value: JsonObject, known: ReadonlySet<string>): Issue[] {
  const found = Object.keys(value).filter((key) => !known.has(key));
  if (found.length === 0) return [];
  return [{ path, message: `Unrecognized key${found.length > 1 ? "s" : ""}: ${found.map((key) => `"${key}"`).join(", ")}` }];
}

function toKeySet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}
