import { randomUUID } from "node:crypto";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { World } from "../../support/world.ts";
import type { Caller, FuzzTenant } from "./callers.ts";
import type { RequestPlan } from "./plan.ts";
import { kindOf, IdPlaceholder, type Pool } from "./id-pool.ts";
import { RawJson } from "./values.ts";
import { LEASED_TASK } from "./record-ids.ts";
import { ServerUrl } from "./field-values.ts";

/** A request as it is sent. */
export interface SentRequest {
  plan: RequestPlan;
  method: string;
  /** The path and query. */
  target: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  /** The values of the path's placeholders. */
  ids: Record<string, string>;
}

export interface ReceivedResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** Two organizations whose callers send requests, and the victim, whose rows requests only name. */
export interface FuzzTenants {
  home: FuzzTenant;
  stranger: FuzzTenant;
  victim: FuzzTenant;
  /** The host of the agents, and a receiver of events. */
  urls: Readonly<Record<ServerUrl["server"], string>>;
}

function callerOf({ home, stranger }: FuzzTenants, name: string): Caller {
  if (name === "nobody") return { options: {}, usual_ids: {} };
  const other = /^another (.*)$/.exec(name)?.[1];
  return other === undefined ? home.callers[name]! : stranger.callers[other]!;
}

/** Fills in the ids of a plan. */
export function buildRequest(plan: RequestPlan, cast: FuzzTenants): SentRequest {
  const caller = callerOf(cast, plan.caller);
  const ids = pathIds(plan, cast, caller.usual_ids);
  const fill = (value: unknown): string => {
    if (value instanceof IdPlaceholder) return JSON.stringify(idOf(value, cast, ids));
    if (value instanceof RawJson) return value.text;
    if (value instanceof ServerUrl) return JSON.stringify(cast.urls[value.server]);
    if (Array.isArray(value)) return `[${value.map(fill).join()}]`;
    if (typeof value === "object" && value !== null)
      return `{${Object.entries(value)
        .map(([key, child]) => `${JSON.stringify(key)}:${fill(child)}`)
        .join()}}`;
    return JSON.stringify(value);
  };
  const segment = (name: string): string => {
    const given = plan.segments[name];
    if (given instanceof IdPlaceholder) return idOf(given, cast, {});
    return given ?? encodeURIComponent(ids[name]!);
  };
  const path = plan.operation.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segment(name));
  const query = plan.query.map(
    ([name, value]) => `${name}=${value instanceof RawJson ? value.text : encodeURIComponent(plain(fill(value)))}`,
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

/** Onboarding happens once per board, so callers move from board to board. */
const ONCE_PATH = "/onboarding/confirm";

/** Checks whether a request must avoid rows that callers depend on, because without such a row later requests would fail. */
const avoidsCore = (method: string, kind: string) => method === "PATCH" || method === "DELETE" || kind === "member";

/** Returns the ids of a path: the id of an existing row and the ids of its parents. */
function pathIds(
  { operation, row_id, method }: RequestPlan,
  cast: FuzzTenants,
  near: Caller["usual_ids"],
): Record<string, string> {
  const names = Object.keys(operation.params);
  const last = names.at(-1);
  if (last === undefined) return {};
  const pool = poolOf(row_id, cast);
  // A caller on a board mostly requests rows of that board.
  const at = row_id.source === "own" && row_id.nth % 5 !== 0 && !operation.path.includes(ONCE_PATH) ? near : {};
  const kind = operation.path.endsWith("/lease") ? LEASED_TASK : (kindOf(last) ?? last);
  const wanted = {
    gone: row_id.source === "gone",
    calm: avoidsCore(method, kind) && operation.method !== "GET",
    above: Object.fromEntries(names.slice(0, -1).flatMap((name) => (at[name] ? [[name, at[name]]] : []))),
  };
  const own = wanted.calm ? undefined : at[last];
  const entry = pool?.pick(kind, row_id.nth, wanted) ?? null;
  const row = { ...entry?.above, [last]: own ?? entry?.id ?? randomUUID() };
  return Object.fromEntries(
    names.map((name) => [
      name,
      row[name] ?? at[name] ?? pool?.pick(kindOf(name) ?? name, row_id.nth, { gone: false })?.id ?? randomUUID(),
    ]),
  );
}

function idOf(pick: IdPlaceholder, cast: FuzzTenants, above: Record<string, string>): string {
  const avoid_core = pick.kind === "member";
  return poolOf(pick, cast)?.pick(pick.kind, pick.nth, { gone: pick.source === "gone", avoid_core, above })?.id ?? randomUUID();
}

const poolOf = ({ source }: IdPlaceholder, { home, victim }: FuzzTenants): Pool | null =>
  source === "unknown" ? null : source === "foreign" ? victim.pool : home.pool;

/** Sends the request unchanged, without a client that would correct it. */
export async function send(world: World, { method, target, headers, body }: SentRequest): Promise<ReceivedResponse> {
  const init = { method, headers, ...(body === null ? {} : { body: body as string }) };
  const answer = await world.app.request(`http://localhost${target}`, init);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const decode = bytes.length > 0 ? DECODERS[answer.headers.get("content-encoding") ?? ""] : undefined;
  return { status: answer.status, headers: answer.headers, text: (decode?.(bytes) ?? bytes).toString() };
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };
