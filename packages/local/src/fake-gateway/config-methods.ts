import type { Json, JsonObject } from "./config.ts";
import { merged, objectOf, redacted, restored } from "./config.ts";
import { issuesOf } from "./config-issues.ts";
import type { Client, Host, Method } from "./host.ts";
import { admin } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { integer, listOf, shape, text } from "./schema.ts";

const PATH = "/srv/openclaw/openclaw.json";
const WINDOW_MS = 60_000;

const patchOptions = { baseHash: text(), sessionKey: text(), note: text(), restartDelayMs: integer() };

/** config.get and config.patch. */
export const configMethods: Record<string, Method> = {
  "config.get": {
    params: () => shape({}),
    scope: (dialect) => (dialect.read_covers_configuration ? "operator.read" : "operator.admin"),
    run(host) {
      const parsed = redacted(host.config.file());
      return {
        path: PATH,
        exists: true,
        raw: JSON.stringify(parsed, null, 2),
        parsed,
        valid: true,
        config: withDefaults(parsed),
        hash: host.config.hash(),
        issues: [],
        warnings: [],
        legacyIssues: [],
      };
    },
  },
  "config.patch": {
    params: ({ protocol }) =>
      shape({ raw: text() }, protocol === 4 ? { ...patchOptions, replacePaths: listOf(text()) } : patchOptions),
    scope: admin,
    writes: "config_patch",
    run: (host, params: { raw: string; baseHash?: string }) => patch(host, params),
  },
};

/** Counts one config.patch call of this client and refuses it above the limit; called before the call is looked at, so bad ones count. */
export function countPatch(host: Host, client: Client): void {
  const limit = host.faults.patch_limit === undefined ? host.dialect.patch_limit : host.faults.patch_limit;
  if (limit === null) return;
  const now = Date.now();
  const recent = (host.patches.get(client.limit_key) ?? []).filter((at) => now - at < WINDOW_MS);
  host.patches.set(client.limit_key, recent);
  const [oldest = now] = recent;
  if (recent.length < limit) {
    recent.push(now);
    return;
  }
  const retryAfterMs = oldest + WINDOW_MS - now;
  throw new Refusal(`rate limit exceeded for config.patch; retry after ${Math.ceil(retryAfterMs / 1000)}s`, {
    code: "UNAVAILABLE",
    retryable: true,
    retryAfterMs,
    details: { method: "config.patch", limit: `${limit} per 60s` },
  });
}

function patch(host: Host, { raw, baseHash }: { raw: string; baseHash?: string }): unknown {
  const { dialect, config, faults } = host;
  const before = config.file();
  const next = (): JsonObject => restored(merged(before, parsedPatch(raw), dialect), before);
  if (baseHash === undefined) {
    if (dialect.protocol === 4 && same(next(), before)) return unchanged(before);
    throw new Refusal("config base hash required; re-run config.get and retry");
  }
  if (baseHash !== config.hash()) throw new Refusal("config changed since last load; re-run config.get and retry");
  const after = next();
  const issues = issuesOf(after, dialect, faults.refused_config_keys);
  if (issues.length > 0) {
    const listed = issues.map(({ path, message }) => `${path || "<root>"}: ${message}`).join("; ");
    throw new Refusal(dialect.issues_in_text ? `invalid config: ${listed}` : "invalid config", { details: { issues } });
  }
  if (dialect.noop && same(after, before)) return unchanged(before);
  config.write(after);
  const written = { ok: true, path: PATH, config: redacted(config.file()) };
  if (dialect.restart_on.config_patch === "never") return written;
  const restart = { ok: true, pid: process.pid, signal: "SIGUSR1", delayMs: 2000, reason: "config.patch", mode: "emit" };
  return { ...written, restart };
}

function parsedPatch(raw: string): JsonObject {
  let parsed: Json;
  try {
    parsed = JSON.parse(raw) as Json;
  } catch {
    throw new Refusal(`SyntaxError: JSON5: invalid end of input at 1:${raw.length + 1}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new Refusal("config.patch raw must be an object");
  return parsed;
}

function unchanged(config: JsonObject): unknown {
  return { ok: true, noop: true, path: PATH, config: redacted(config) };
}

/** Runtime defaults that config.get shows beside what the file holds. */
function withDefaults(config: JsonObject): JsonObject {
  const agents = objectOf(config.agents);
  const defaults = { maxConcurrent: 4, subagents: { maxConcurrent: 8 }, ...objectOf(agents.defaults) };
  return {
    ...config,
    agents: { ...agents, defaults },
    messages: { ackReactionScope: "group-mentions", ...objectOf(config.messages) },
  };
}

/** Equal but for the order of keys and for `meta`, which every write renews. */
function same(a: JsonObject, b: JsonObject): boolean {
  return canonical({ ...a, meta: null }) === canonical({ ...b, meta: null });
}

function canonical(value: Json): string {
  return JSON.stringify(value, (_key, entry: Json) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
