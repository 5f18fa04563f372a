import { InvalidInput } from "@board/core/values/errors";
import type { Hono } from "hono";
import type { Env } from "../runtime.ts";
import type { LoadAccounts } from "../sign-in/accounts.ts";
import { requireOwnSignIn } from "../sign-in/session-cookie.ts";
import { findUnstorable } from "./body.ts";

/**
 * People sign in and manage their account below the first path (docs/reference/accounts.md). OAuth clients read their metadata at
 * the second path.
 */
const PATHS = ["/api/auth/*", "/.well-known/oauth-authorization-server/api/auth"];
const MAX_BYTES = 65_536;

/**
 * Paths that programs of any origin call. Their cookies are removed, so that a page cannot use its visitor's session with them.
 */
const FOR_PROGRAMS = new Set(
  ["oauth2/token", "oauth2/register", "oauth2/revoke", "device/code", "device/token"].map((path) => `/api/auth/${path}`),
);

/** Serves the sign-in of accounts mode. */
export function mountAccounts(app: Hono<Env>, load: LoadAccounts): void {
  app.on(["GET", "POST"], PATHS, async (c) => {
    const { raw, path } = c.req;
    const headers = new Headers(raw.headers);
    if (FOR_PROGRAMS.has(path)) for (const name of ["cookie", "origin"]) headers.delete(name);
    else requireOwnSignIn(raw.method, raw.headers, c.var.ctx.settings);
    requireStorable(c.req.queries(), "query");
    const body = raw.method === "POST" ? { body: Buffer.from(await c.var.body.read(MAX_BYTES)) } : {};
    if (body.body) requireStorable(parseBody(body.body.toString(), headers.get("content-type") ?? ""), "body");
    const request = new Request(raw.url, { method: raw.method, headers, ...body });
    const answer = await (await load()).handle(request, c.var.client_address);
    answer.headers.set("cache-control", "no-store");
    return answer;
  });
}

/** Refuses input that makes the library answer with 500: text that the database cannot store, or a body that is not JSON. */
function requireStorable(sent: unknown, place: "query" | "body"): void {
  const problem = findUnstorable(sent, [place]);
  if (problem) throw new InvalidInput([problem]);
}

function parseBody(text: string, type: string): unknown {
  if (type.startsWith("application/x-www-form-urlencoded")) return [...new URLSearchParams(text)];
  try {
    return text.trim() === "" ? null : JSON.parse(text);
  } catch {
    throw new InvalidInput([{ type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: null }]);
  }
}
