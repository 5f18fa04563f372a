import { createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import type { BetterAuthPlugin } from "better-auth";
import * as z from "zod";
import { asApiCall } from "./api-error.ts";

/** Makes a link for a member on behalf of this account. Throws a `DomainError` if it may not. */
export type CreateMemberLink = (account_id: string, member_id: string) => Promise<string>;

/** A link by which a member who has lost every other way in signs in once. Owners pass it on. */
export const memberLink = (create: CreateMemberLink) =>
  ({
    id: "member-link",
    endpoints: {
      createMemberLink: createAuthEndpoint(
        "/member-link",
        { method: "POST", body: z.object({ member_id: z.guid() }), use: [sessionMiddleware] },
        async (ctx) => {
          return ctx.json({ token: await asApiCall(create(ctx.context.session.user.id, ctx.body.member_id)) });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
