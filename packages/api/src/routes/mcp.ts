import { anyone, userOrAgent } from "@board/core/context/actor";
import { DomainError } from "@board/core/values/errors";
import { toUsedAddress } from "@board/core/config/service-url";
import type { Settings } from "@board/core/config/settings";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import { json } from "../edge/errors.ts";
import { lazyObject } from "@board/core/values/wire";

const PATH = "/mcp";
const METADATA_PATH = "/.well-known/oauth-protected-resource";
const MAX_BYTES = 1_048_576;

/** RFC 9728 metadata. It tells a client that got a 401 which server issues tokens. */
const ProtectedResource = lazyObject(() => ({
  resource: z.string().describe("Address of the MCP endpoint."),
  resource_name: z.string().describe("Name of the service."),
  bearer_methods_supported: z.array(z.string()).describe("How a token is sent."),
  authorization_servers: z
    .array(z.string())
    .optional()
    .describe("The identity provider of people, or the service itself in accounts mode; absent in local mode."),
  scopes_supported: z.array(z.string()).optional().describe("What a program may ask for in accounts mode."),
})).meta({ id: "ProtectedResource", description: "Metadata of the MCP endpoint by RFC 9728." });

/** The Model Context Protocol, and the metadata from which its clients learn how to sign in. */
export const mcp = [
  endpoint(
    "POST",
    PATH,
    {
      as: userOrAgent,
      summary: "Call the MCP endpoint",
      description: "One message of the Model Context Protocol over streamable HTTP, without sessions (docs/agents.md).",
      returns: z.unknown(),
      resource_metadata: `${METADATA_PATH}${PATH}`,
      hidden: true,
    },
    async (ctx, { http }) => {
      requireOrigin(http.headers.get("origin"), ctx.settings);
      const body = Buffer.from(await http.read(MAX_BYTES));
      if (/^\s*\[/.test(body.toString("latin1", 0, MAX_BLANKS))) return refuseBatch();
      const headers = new Headers(http.headers);
      // The header is set because the library requires it. The answer is a single JSON text, so clients do not have to accept event
      // streams.
      headers.set("accept", "application/json, text/event-stream");
      const request = new Request(`${ctx.settings.service_url}${PATH}`, { method: "POST", headers, body });
      // The SDK is loaded on the first request, because it would slow down the start of every process.
      const { answerMcp } = await import("../mcp/server.ts");
      return answerMcp(ctx, request, http.shutdown_signal);
    },
  ),
  endpoint(
    "GET",
    [METADATA_PATH, `${METADATA_PATH}${PATH}`],
    {
      as: anyone,
      in_memory: true,
      summary: "Get the sign-in metadata of the MCP endpoint",
      description: "Names who issues the tokens that people send to `/mcp`. Agents send their own token.",
      returns: ProtectedResource,
      hidden: true,
    },
    async ({ settings }, { http }) => ({
      resource: `${toUsedAddress(settings, http.headers.get("host"))}${PATH}`,
      resource_name: "Board coordination",
      bearer_methods_supported: ["header"],
      ...toAuthorizationServers(settings),
    }),
  ),
];

function toAuthorizationServers({ auth, service_url }: Settings) {
  if (auth.mode === "oidc") return { authorization_servers: [auth.issuer] };
  if (auth.mode === "local") return {};
  return { authorization_servers: [`${new URL(service_url).origin}/api/auth`], scopes_supported: ["read", "write"] };
}

/** The maximum number of white space characters at the start of a body that are skipped to find the bracket of a batch. */
const MAX_BLANKS = 1_000;

/** Refuses batches, because one request must not cause the work of thousands. No supported revision has batches. */
function refuseBatch(): Response {
  const error = { code: -32_600, message: "Batches are not supported: send one message per request." };
  return json({ jsonrpc: "2.0", id: null, error }, 400);
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Refuses pages of other sites. With a host name that resolves to the reader's machine, such a page could reach a service there
 * (DNS rebinding).
 */
function requireOrigin(origin: string | null, { cors_origins, service_url }: Settings): void {
  if (origin === null || cors_origins.includes(origin)) return;
  const hostname = URL.canParse(origin) ? new URL(origin).hostname : "";
  const own = new URL(service_url).hostname;
  if (hostname === own || (LOOPBACK.has(hostname) && LOOPBACK.has(own))) return;
  throw new DomainError("forbidden", "Requests from this origin are not allowed; CORS_ORIGINS lists those that are.");
}
