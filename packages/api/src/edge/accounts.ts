import { setTimeout as pause } from "node:timers/promises";
import { hasPendingWakeups } from "@board/core/context/pending-wakeups";
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

const PASSWORD_PATH = "/api/auth/sign-in/email";
const SENDS_MAIL = new Set(["/api/auth/sign-in/magic-link", "/api/auth/email-link"]);

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
    const { ctx, runtime } = c.var;
    const received_at = performance.now();
    // The limits that the sign-in counts stay out of the answer's headers. The headers would show how often other people tried to
    // sign in to an account.
    const answer = await (await load()).handle({ ...ctx, limits: new Map() }, request);
    if (hasPendingWakeups(ctx.pendingWakeups)) await runtime.relay(ctx);
    if (SENDS_MAIL.has(path) || (path === PASSWORD_PATH && answer.status === 401)) await pause(untilNextStep(received_at));
    answer.headers.set("cache-control", "no-store");
    return answer;
  });
}

/** The length of a step in milliseconds. Checking a password and storing a mail take less. */
const STEP_MS = 250;

/**
 * Returns the wait until a multiple of a quarter of a second after the request. The service does more for an e-mail address that
 * has an account, and the time of the answer must not show that.
 */
const untilNextStep = (received_at: number): number => STEP_MS - ((performance.now() - received_at) % STEP_MS);

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
