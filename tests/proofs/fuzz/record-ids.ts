import type { Api, Operation } from "./document.ts";
import { kindOf, type Pool } from "./id-pool.ts";
import type { ReceivedResponse, SentRequest } from "./request.ts";

/** The kind for tasks that an agent took under a lease. Their ids are also recorded as ids of ordinary tasks. */
export const LEASED_TASK = "leased task";

/** The kinds whose ids do not appear in a path below their list. */
const KINDS: Readonly<Record<string, string>> = { "/organizations": "organization", "/organizations/me/list": "organization" };

type Json = Record<string, unknown>;

/** Checks whether an answer is JSON. An export with one JSON object per line does not count. */
export const isJson = ({ headers }: ReceivedResponse): boolean =>
  headers.get("content-type")?.startsWith("application/json") ?? false;

/** Collects the ids of rows and their parents from an answer. */
export function recordIds(api: Api, pool: Pool, { plan, ids }: SentRequest, answered: ReceivedResponse): void {
  const { operation, method } = plan;
  const { status, text } = answered;
  if (status >= 300 || operation.path === "/openapi.json" || !isJson(answered) || !/^[[{]/.test(text)) return;
  if (method === "DELETE") {
    const last = Object.values(ids).at(-1);
    if (last !== undefined) pool.remove(last);
    return;
  }
  const kind = kindIn(api, operation);
  const answer = JSON.parse(text) as unknown;
  if (isObject(answer)) recordAgentWork(pool, answer);
  for (const item of itemsOf(answer)) {
    const above = { ...ids, ...idsIn(item) };
    if (kind && typeof item.id === "string") pool.add(kind, item.id, above);
    for (const name of ["run_id", "payload_id"]) if (typeof item[name] === "string") pool.add(kindOf(name)!, item[name], above);
    if (operation.path.endsWith("/invites") && typeof item.token === "string") pool.add("invite_token", item.token);
  }
}

/** Records the messages of an inbox, and the task that an agent took under a lease. */
function recordAgentWork(pool: Pool, { messages, task, lease }: Json): void {
  for (const message of Array.isArray(messages) ? messages.filter(isObject) : [])
    if (typeof message.id === "string") pool.add("message", message.id);
  if (isObject(task) && isObject(lease) && typeof task.id === "string") pool.add(LEASED_TASK, task.id, idsIn(task));
}

/** Returns the kind of row of an operation, by the path below it or by its last placeholder. */
function kindIn(api: Api, { path }: Operation): string | null {
  const known = KINDS[path.replace("/api/v1", "")];
  if (known) return known;
  const own = /\{(\w+)\}$/.exec(path)?.[1];
  if (own) return kindOf(own);
  const below = api.operations.find(
    (other) => other.path.startsWith(`${path}/{`) && other.path.endsWith("}") && !other.path.slice(path.length + 1).includes("/"),
  );
  const name = /\{(\w+)\}$/.exec(below?.path ?? "")?.[1];
  return name === undefined ? null : kindOf(name);
}

function itemsOf(answer: unknown): Json[] {
  if (Array.isArray(answer)) return answer.filter(isObject);
  if (!isObject(answer)) return [];
  return Array.isArray(answer.items) ? answer.items.filter(isObject) : [answer];
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

const idsIn = (item: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(item).filter((entry): entry is [string, string] => entry[0].endsWith("_id") && typeof entry[1] === "string"),
  );
