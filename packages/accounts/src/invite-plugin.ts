import { APIError, createAuthEndpoint } from "better-auth/api";
import { DomainError } from "@board/core/values/errors";
import type { BetterAuthPlugin, User } from "better-auth";
import { setSessionCookie } from "better-auth/cookies";
import * as z from "zod";
import { isDuplicate } from "./duplicate.ts";
import { MAX_PASSWORD, MIN_PASSWORD, requireUncommonPassword } from "./password.ts";

const MAX_TOKEN = 200;
const MAX_NAME = 200;

const hasAccount = () =>
  new APIError("CONFLICT", { code: "SIGN_IN_FIRST", message: "There is an account with this address. Sign in to join." });

/** What the service does with an invite. */
export interface Invites {
  /** Returns the e-mail address of an open invite, or null if no open invite has this token. */
  findEmail(token: string): Promise<string | null>;
  /** Removes the account of an earlier sign-up that was cut off. Returns false if there is none, or if somebody uses the account. */
  removeUnfinished(email: string): Promise<boolean>;
  /** Makes the account a member. Throws a `DomainError` if the invite is no longer valid. */
  accept(token: string, user: User): Promise<void>;
}

/**
 * Creates an account by the link of an invite, joins the organization and signs in. The link alone makes a person a member, but it
 * does not verify the invited e-mail address.
 */
export const invitation = (invites: Invites) =>
  ({
    id: "invitation",
    endpoints: {
      signUpByInvite: createAuthEndpoint(
        "/sign-up/invite",
        {
          method: "POST",
          body: z.object({
            token: z.string().max(MAX_TOKEN),
            name: z.string().trim().min(1).max(MAX_NAME),
            password: z.string().min(MIN_PASSWORD).max(MAX_PASSWORD).optional(),
          }),
        },
        async (ctx) => {
          const { token, name, password } = ctx.body;
          const { internalAdapter } = ctx.context;
          if (password !== undefined) requireUncommonPassword(password);
          const email = await invites.findEmail(token);
          if (email === null) throw new APIError("NOT_FOUND", { message: "The invite was used or removed. Ask for a new one." });
          if ((await internalAdapter.findUserByEmail(email)) && !(await invites.removeUnfinished(email))) throw hasAccount();
          const hash = password === undefined ? undefined : await ctx.context.password.hash(password);
          const user = await internalAdapter
            .createUser({ name, email, emailVerified: false }, { method: "email-password" })
            .catch((error: unknown) => {
              // Another request has accepted the invite at the same time.
              throw isDuplicate(error) ? hasAccount() : error;
            });
          if (hash !== undefined)
            await internalAdapter.linkAccount({
              userId: user.id,
              providerId: "credential",
              accountId: user.id,
              password: hash,
            });
          try {
            await invites.accept(token, user);
          } catch (error) {
            // After a failure of the database, the person may already be a member and need the account. So the account is kept.
            if (!(error instanceof DomainError)) throw error;
            await internalAdapter.deleteUser(user.id);
            throw new APIError("FORBIDDEN", { message: error.message });
          }
          const session = await internalAdapter.createSession(user.id);
          await setSessionCookie(ctx, { session, user });
          return ctx.json({ user: { id: user.id, name: user.name } });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
