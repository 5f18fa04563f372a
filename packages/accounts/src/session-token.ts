import type { BetterAuthPlugin } from "better-auth";
import { createAuthMiddleware } from "better-auth/api";
import { serializeSignedCookie } from "better-call";

/** The prefix of the token with which the command line sends its person's session. */
export const SESSION_PREFIX = "bs_";

/**
 * Signs the session that a device gets for its code. The table stores sessions without a signature, so nobody who has only read
 * the table can sign in.
 */
export const sessionToken = () =>
  ({
    id: "session-token",
    hooks: {
      after: [
        {
          matcher: ({ path }) => path === "/device/code",
          handler: createAuthMiddleware(async (ctx) => {
            const { returned } = ctx.context;
            const { verification_uri, user_code } = (returned ?? {}) as Record<string, unknown>;
            if (typeof verification_uri !== "string" || typeof user_code !== "string") return;
            // The library puts the code into the query, where it would be written to logs. Here it is put behind the #.
            return ctx.json({ ...(returned as object), verification_uri_complete: `${verification_uri}?user_code=${user_code}` });
          }),
        },
        {
          matcher: ({ path }) => path === "/device/token",
          handler: createAuthMiddleware(async (ctx) => {
            const { returned, secret } = ctx.context;
            const { access_token } = (returned ?? {}) as { access_token?: unknown };
            if (typeof access_token !== "string") return;
            const signed = (await serializeSignedCookie("", access_token, secret)).replace("=", "");
            return ctx.json({ ...(returned as object), access_token: `${SESSION_PREFIX}${signed}` });
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;
