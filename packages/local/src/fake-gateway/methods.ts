import { agentMethods } from "./agents.ts";
import { chatMethods } from "./chat.ts";
import { configMethods, countPatch } from "./config-methods.ts";
import { fileMethods } from "./files.ts";
import { healthMethods } from "./health.ts";
import type { Client, Host, Method } from "./host.ts";
import { deviceMethods } from "./pairing.ts";
import { Refusal } from "./refusal.ts";
import { sessionMethods } from "./sessions.ts";

/** Every RPC this gateway has. */
export const methods = new Map<string, Method>(
  Object.entries({
    ...healthMethods,
    ...agentMethods,
    ...fileMethods,
    ...sessionMethods,
    ...chatMethods,
    ...configMethods,
    ...deviceMethods,
  }),
);

/** Events a client of this gateway can see. */
export const events = [
  "connect.challenge",
  "agent",
  "chat",
  "presence",
  "tick",
  "shutdown",
  "health",
  "device.pair.requested",
  "device.pair.resolved",
];

/** Runs one method: scope, limits and schema first. Throws a Refusal. */
export function invoke(host: Host, client: Client, name: string, params: unknown): unknown {
  const method = methods.get(name);
  requireScope(host, client, method === undefined ? "operator.admin" : method.scope(host.dialect));
  if (method === undefined) throw new Refusal(`unknown method: ${name}`);
  if (method.writes === "config_patch") countPatch(host, client);
  const given = params ?? {};
  const problems = method.params(host.dialect)(given, "");
  if (problems.length > 0) throw new Refusal(`invalid ${name} params: ${problems.join("; ")}`);
  return method.run(host, given as never, client);
}

/** Admin covers everything, write covers read. */
function requireScope({ dialect }: Host, { scopes }: Client, scope: string | null): void {
  if (scope === null || scopes.includes(scope) || scopes.includes("operator.admin")) return;
  if (scope === "operator.read" && scopes.includes("operator.write")) return;
  const details = { code: "MISSING_SCOPE", missingScope: scope, requiredScopes: [scope] };
  const code = dialect.scope_error_code;
  throw new Refusal(`missing scope: ${scope}`, { code, ...(code === "FORBIDDEN" ? { details } : {}) });
}
