import { APIError, createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import type { BetterAuthPlugin } from "better-auth";
import * as z from "zod";
import { MAX_PASSWORD, MIN_PASSWORD, requireUncommonPassword } from "./password.ts";

/** Sets the first password of an account that has none. To change a password, the old one is needed. */
export const firstPassword = () =>
  ({
    id: "first-password",
    endpoints: {
      addPassword: createAuthEndpoint(
        "/add-password",
        {
          method: "POST",
          body: z.object({ newPassword: z.string().min(MIN_PASSWORD).max(MAX_PASSWORD) }),
          use: [sessionMiddleware],
        },
        async (ctx) => {
          const { user } = ctx.context.session;
          const { internalAdapter, password } = ctx.context;
          requireUncommonPassword(ctx.body.newPassword);
          const ways = await internalAdapter.findAccounts(user.id);
          if (ways.some((way) => way.providerId === "credential" && way.password))
            throw new APIError("CONFLICT", { message: "The account has a password. Change it with the present one." });
          await internalAdapter.linkAccount({
            userId: user.id,
            providerId: "credential",
            accountId: user.id,
            password: await password.hash(ctx.body.newPassword),
          });
          return ctx.json({ status: true });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
