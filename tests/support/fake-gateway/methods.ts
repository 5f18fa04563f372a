import { agentMethods } from "./agents.ts";
import { chatMethods } from "./chat.ts";
import { configMethods, countPatch } from "./config-methods.ts";
import { fileMethods } from "./files.ts";
import { healthMethods } from "./health.ts";
import type { Client, Host, Method } from "./host.ts";
import { deviceMethods } from "./pairing.ts";
import { RpcError } from "./rpc-error.ts";
import { sessionMethods } from "./sessions.ts";

/** All RPC methods of the fake gateway. */
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

/** Events that clients may receive. */
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

/** Calls a method after checking scope, limits and schema. Throws an RpcError. */
export function callMethod(host: Host, client: Client, name: string, params: unknown): unknown {
  const method = methods.get(name);
  requireScope(host, client, method === undefined ? "operator.admin" : method.scope(host.dialect));
  if (method === undefined) throw new RpcError(`unknown method: ${name}`);
  if (method.writes === "config_patch") countPatch(host, client);
  const input = params ?? {};
  const problems = method.params(host.dialect)(input, "");
  if (problems.length > 0) throw new RpcError(`invalid ${name} params: ${problems.join("; ")}`);
  return method.run(host, input as never, client);
}

/** Throws unless the client has the scope. The admin scope includes all other scopes, and write includes read. */
function requireScope({ dialect }: Host, { scopes }: Client, scope: string | null): void {
  if (scope === null || scopes.includes(scope) || scopes.includes("operator.admin")) return;
  if (scope === "operator.read" && scopes.includes("operator.write")) return;
  const details = { code: "MISSING_SCOPE", missingScope: scope, requiredScopes: [scope] };
  const code = dialect.scope_error_code;
  throw new RpcError(`missing scope: ${scope}`, { code, ...(code === "FORBIDDEN" ? { details } : {}) });
}
