import { randomUUID } from "node:crypto";
import type { World } from "../world.ts";
import type { Caller, Household } from "./callers.ts";
import type { Plan } from "./plan.ts";
import { kindOf, Pick, type Pool } from "./pool.ts";
import { Raw } from "./values.ts";
import { HostUrl } from "./words.ts";

/** A request as it goes out. */
export interface Sent {
  plan: Plan;
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  /** What stood for the placeholders of the path. */
  ids: Record<string, string>;
}

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
}

/** Who is there: those of the home organization, another organization's, and one that is only ever spoken of. */
export interface Cast {
  home: Household;
  stranger: Household;
  victim: Household;
  host_url: string;
}

export function callerOf({ home, stranger }: Cast, name: string): Caller {
  if (name === "nobody") return { options: {}, near: {} };
  const other = /^another (.*)$/.exec(name)?.[1];
  return other === undefined ? home.callers[name]! : stranger.callers[other]!;
}

/** Fills in what was left open. */
export function prepare(plan: Plan, cast: Cast): Sent {
  const caller = callerOf(cast, plan.caller);
  const ids = placesOf(plan, cast, caller.near);
  const fill = (value: unknown): string => {
    if (value instanceof Pick) return JSON.stringify(idOf(value, cast, ids));
    if (value instanceof Raw) return value.text;
    if (value instanceof HostUrl) return JSON.stringify(cast.host_url);
    if (Array.isArray(value)) return `[${value.map(fill).join()}]`;
    if (typeof value === "object" && value !== null)
      return `{${Object.entries(value)
        .map(([key, child]) => `${JSON.stringify(key)}:${fill(child)}`)
        .join()}}`;
    return JSON.stringify(value);
  };
  const segment = (name: string): string => {
    const given = plan.segments[name];
    if (given instanceof Pick) return idOf(given, cast, {});
    return given ?? encodeURIComponent(ids[name]!);
  };
  const path = plan.operation.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segment(name));
  const query = plan.query.map(
    ([name, value]) => `${name}=${value instanceof Raw ? value.text : encodeURIComponent(plain(fill(value)))}`,
  );
  const search = [...query, ...(plan.more_query ? [plan.more_query] : [])].join("&");
  const { token, agent } = caller.options;
  const own = Object.keys(plan.credentials).length > 0 ? plan.credentials : credentials(token, agent);
  const body = plan.method === "GET" || plan.method === "HEAD" ? null : plan.body;
  return {
    plan,
    method: plan.method,
    target: path + (search ? `?${search}` : ""),
    headers: { ...(body ? { "content-type": "application/json" } : {}), ...own, ...plan.headers },
    body: body === null ? null : "raw" in body ? body.raw : body.value === undefined ? null : fill(body.value),
    ids,
  };
}

const plain = (json: string): string => (json.startsWith('"') ? (JSON.parse(json) as string) : json);

const credentials = (token?: string, agent?: string): Record<string, string> => ({
  ...(token ? { authorization: `Bearer ${token}` } : {}),
  ...(agent ? { "x-agent-token": agent } : {}),
});

/** What is done there is done once: everybody goes to one board after the other. */
const ONCE = "/onboarding/confirm";

/** What callers depend on is left as it is: there are other rows to change and to remove. */
const leavesCore = (method: string, kind: string) => method === "PATCH" || method === "DELETE" || kind === "member";

/** The ids of a path: those of one row that is there, and of what it belongs to. */
function placesOf({ operation, place, method }: Plan, cast: Cast, near: Caller["near"]): Record<string, string> {
  const names = Object.keys(operation.params);
  const last = names.at(-1);
  if (last === undefined) return {};
  const pool = poolOf(place, cast);
  // Who is somewhere mostly asks for what is there.
  const at = place.source === "own" && place.nth % 5 !== 0 && !operation.path.includes(ONCE) ? near : {};
  const kind = kindOf(last) ?? last;
  const wanted = {
    gone: place.source === "gone",
    calm: leavesCore(method, kind) && operation.method !== "GET",
    above: Object.fromEntries(names.slice(0, -1).flatMap((name) => (at[name] ? [[name, at[name]]] : []))),
  };
  const own = wanted.calm ? undefined : at[last];
  const entry = pool?.pick(kind, place.nth, wanted) ?? null;
  const row = { ...entry?.above, [last]: own ?? entry?.id ?? randomUUID() };
  return Object.fromEntries(
    names.map((name) => [
      name,
      row[name] ?? at[name] ?? pool?.pick(kindOf(name) ?? name, place.nth, { gone: false })?.id ?? randomUUID(),
    ]),
  );
}

function idOf(pick: Pick, cast: Cast, above: Record<string, string>): string {
  const calm = pick.kind === "member";
  return poolOf(pick, cast)?.pick(pick.kind, pick.nth, { gone: pick.source === "gone", calm, above })?.id ?? randomUUID();
}

const poolOf = ({ source }: Pick, { home, victim }: Cast): Pool | null =>
  source === "unknown" ? null : source === "foreign" ? victim.pool : home.pool;

/** Sends it to the service as it is: no client in between that would mend it. */
export async function send(world: World, { method, target, headers, body }: Sent): Promise<Answered> {
  const init = { method, headers, ...(body === null ? {} : { body: body as string }) };
  const answer = await world.app.request(`http://localhost${target}`, init);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
