import type { Api, Operation } from "./document.ts";
import { kindOf, type Pool } from "./pool.ts";
import type { Answered, Sent } from "./send.ts";

/** Whose ids are not in a path below the list they are in. */
const KINDS: Readonly<Record<string, string>> = { "/organizations": "organization", "/organizations/me/list": "organization" };

type Json = Record<string, unknown>;

/** Takes from an answer what rows there are and where. */
export function learn(api: Api, pool: Pool, { plan, ids }: Sent, { status, text }: Answered): void {
  const { operation, method } = plan;
  if (status >= 300 || operation.path === "/openapi.json" || !/^[[{]/.test(text)) return;
  if (method === "DELETE") {
    const last = Object.values(ids).at(-1);
    if (last !== undefined) pool.remove(last);
    return;
  }
  const kind = kindIn(api, operation);
  const answer = JSON.parse(text) as unknown;
  for (const item of itemsOf(answer)) {
    const above = { ...ids, ...idsIn(item) };
    if (kind && typeof item.id === "string") pool.add(kind, item.id, above);
    for (const name of ["run_id", "payload_id"]) if (typeof item[name] === "string") pool.add(kindOf(name)!, item[name], above);
    if (operation.path.endsWith("/invites") && typeof item.token === "string") pool.add("invite_token", item.token);
  }
}

/** What kind of thing an operation lists, makes or shows: what a path below it names, or its own last placeholder. */
function kindIn(api: Api, { path }: Operation): string | null {
  const known = KINDS[path.replace("/api/v1", "")];
  if (known) return known;
  const own = /\{(\w+)\}$/.exec(path)?.[1];
  if (own) return kindOf(own);
  const below = api.operations.find(
    (one) => one.path.startsWith(`${path}/{`) && one.path.endsWith("}") && !one.path.slice(path.length + 1).includes("/"),
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
