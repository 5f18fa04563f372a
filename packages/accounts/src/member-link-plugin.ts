import { createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import type { BetterAuthPlugin } from "better-auth";
import * as z from "zod";
import { asApiCall } from "./api-error.ts";

/** Makes a link for another member, on behalf of this account. Throws a `DomainError` if the account is not allowed to. */
export type CreateMemberLink = (account_id: string, member_id: string) => Promise<string>;

/** Lets an owner create a link with which a member can sign in once, after that member has lost every other way to sign in. */
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
