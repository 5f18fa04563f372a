import { APIError, createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import { DomainError } from "@board/core/values/errors";
import type { BetterAuthPlugin } from "better-auth";
import * as z from "zod";

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
          const token = await create(ctx.context.session.user.id, ctx.body.member_id).catch((error: unknown) => {
            if (!(error instanceof DomainError)) throw error;
            throw new APIError(error.kind === "not_found" ? "NOT_FOUND" : "FORBIDDEN", { message: error.message });
          });
          return ctx.json({ token });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
