import type { Json, JsonObject } from "./config.ts";
import { applyPatch, objectOf, redactSecrets, restoreSecrets } from "./config.ts";
import { validateConfig } from "./config-issues.ts";
import type { Client, Host, Method } from "./host.ts";
import { adminScope } from "./host.ts";
import { RpcError } from "./rpc-error.ts";
import { integer, listOf, shape, text } from "./validators.ts";

const CONFIG_PATH = "/srv/openclaw/openclaw.json";
const RATE_WINDOW_MS = 60_000;

const patchOptions = { baseHash: text(), sessionKey: text(), note: text(), restartDelayMs: integer() };

/** config.get and config.patch. */
export const configMethods: Record<string, Method> = {
  "config.get": {
    params: () => shape({}),
    scope: (dialect) => (dialect.read_covers_configuration ? "operator.read" : "operator.admin"),
    run(host) {
      const parsed = redactSecrets(host.config.file());
      return {
        path: CONFIG_PATH,
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
    scope: adminScope,
    writes: "config_patch",
    run: (host, params: { raw: string; baseHash?: string }) => patchConfig(host, params),
  },
};

/** Counts a config.patch call of this client and rejects it above the limit. Invalid calls count as well. */
export function countPatch(host: Host, client: Client): void {
  const limit = host.faults.patch_limit === undefined ? host.dialect.patch_limit : host.faults.patch_limit;
  if (limit === null) return;
  const now = Date.now();
  const recent = (host.recent_patches.get(client.rate_limit_key) ?? []).filter((at) => now - at < RATE_WINDOW_MS);
  host.recent_patches.set(client.rate_limit_key, recent);
  const [oldest = now] = recent;
  if (recent.length < limit) {
    recent.push(now);
    return;
  }
  const retryAfterMs = oldest + RATE_WINDOW_MS - now;
  throw new RpcError(`rate limit exceeded for config.patch; retry after ${Math.ceil(retryAfterMs / 1000)}s`, {
    code: "UNAVAILABLE",
    retryable: true,
    retryAfterMs,
    details: { method: "config.patch", limit: `${limit} per 60s` },
  });
}

function patchConfig(host: Host, { raw, baseHash }: { raw: string; baseHash?: string }): unknown {
  const { dialect, config, faults } = host;
  const before = config.file();
  const next = (): JsonObject => restoreSecrets(applyPatch(before, parsePatch(raw), dialect), before);
  if (baseHash === undefined) {
    if (dialect.protocol === 4 && isSameConfig(next(), before)) return noopAnswer(before);
    throw new RpcError("config base hash required; re-run config.get and retry");
  }
  if (baseHash !== config.hash()) throw new RpcError("config changed since last load; re-run config.get and retry");
  const after = next();
  const issues = validateConfig(after, dialect, faults.refused_config_keys);
  if (issues.length > 0) {
    const listed = issues.map(({ path, message }) => `${path || "<root>"}: ${message}`).join("; ");
    throw new RpcError(dialect.issues_in_text ? `invalid config: ${listed}` : "invalid config", { details: { issues } });
  }
  if (dialect.answers_noop && isSameConfig(after, before)) return noopAnswer(before);
  config.write(after);
  const written = { ok: true, path: CONFIG_PATH, config: redactSecrets(config.file()) };
  if (dialect.restart_on.config_patch === "never") return written;
  const restart = { ok: true, pid: process.pid, signal: "SIGUSR1", delayMs: 2000, reason: "config.patch", mode: "emit" };
  return { ...written, restart };
}

function parsePatch(raw: string): JsonObject {
  let parsed: Json;
  try {
    parsed = JSON.parse(raw) as Json;
  } catch {
    throw new RpcError(`SyntaxError: JSON5: invalid end of input at 1:${raw.length + 1}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new RpcError("config.patch raw must be an object");
  return parsed;
}

function noopAnswer(config: JsonObject): unknown {
  return { ok: true, noop: true, path: CONFIG_PATH, config: redactSecrets(config) };
}

/** Adds the runtime defaults that config.get shows. */
function withDefaults(config: JsonObject): JsonObject {
  const agents = objectOf(config.agents);
  const defaults = { maxConcurrent: 4, subagents: { maxConcurrent: 8 }, ...objectOf(agents.defaults) };
  return {
    ...config,
    agents: { ...agents, defaults },
    messages: { ackReactionScope: "group-mentions", ...objectOf(config.messages) },
  };
}

/** Compares two configurations, ignoring the order of keys and `meta`, which changes at every write. */
function isSameConfig(a: JsonObject, b: JsonObject): boolean {
  return toCanonicalJson({ ...a, meta: null }) === toCanonicalJson({ ...b, meta: null });
}

function toCanonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, entry: Json) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
