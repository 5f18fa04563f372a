import type { Hono } from "hono";
import type { Env } from "../runtime.ts";
import type { LoadAccounts } from "../sign-in/accounts.ts";
import { requireOwnSignIn } from "../sign-in/session-cookie.ts";

/** Below this path, people sign in and manage their account (docs/reference/accounts.md). */
const PATHS = "/api/auth/*";
const MAX_BYTES = 65_536;

/** Serves the sign-in of accounts mode. */
export function mountAccounts(app: Hono<Env>, load: LoadAccounts): void {
  app.on(["GET", "POST"], PATHS, async (c) => {
    const { raw } = c.req;
    requireOwnSignIn(raw.method, raw.headers, c.var.ctx.settings);
    const body = raw.method === "POST" ? { body: Buffer.from(await c.var.body.read(MAX_BYTES)) } : {};
    const request = new Request(raw.url, { method: raw.method, headers: raw.headers, ...body });
    const answer = await (await load()).handle(request, c.var.client_address);
    answer.headers.set("cache-control", "no-store");
    return answer;
  });
}
