import { APIError, createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import { addMs, DAY_MS } from "@board/core/values/time";
import type { BetterAuthPlugin } from "better-auth";
import * as z from "zod";
import { asApiCall } from "./api-error.ts";
import type { Attempts, SendMail } from "./auth.ts";
import { isDuplicate } from "./duplicate.ts";
import { mintLinkToken, toEmailIdentifier } from "./link.ts";
import { isUnknownAddress } from "./unknown-address.ts";

const MAX_TOKEN = 200;

/** What a link verifies: that the person of an account, which has the address `from`, receives mails to the address `to`. */
const Claim = z.object({ account_id: z.string(), from: z.string(), to: z.string() });

/**
 * Verifies an e-mail address, or replaces it by another one, with a mailed link. The link counts only in a session of the same
 * account, so entering the address of another person gains nothing, even if that person opens the link.
 */
export const emailLink = (sendMail: SendMail, origin: string, attempts: Pick<Attempts, "countMail">) =>
  ({
    id: "email-link",
    endpoints: {
      sendEmailLink: createAuthEndpoint(
        "/email-link",
        { method: "POST", body: z.object({ email: z.email().optional() }), use: [sessionMiddleware] },
        async (ctx) => {
          const { user } = ctx.context.session;
          const { internalAdapter } = ctx.context;
          const to = (ctx.body.email ?? user.email).toLowerCase();
          if (isUnknownAddress(to)) throw new APIError("BAD_REQUEST", { message: "Enter your e-mail address first." });
          if (to === user.email && user.emailVerified)
            throw new APIError("CONFLICT", { message: "This e-mail address is verified already." });
          await asApiCall(attempts.countMail(to));
          const token = mintLinkToken();
          await internalAdapter.createVerificationValue({
            identifier: toEmailIdentifier(token),
            value: JSON.stringify({ account_id: user.id, from: user.email, to } satisfies z.infer<typeof Claim>),
            expiresAt: addMs(new Date(), DAY_MS),
          });
          const text = `Open this link within 24 hours, where you are signed in, to confirm that this is your e-mail address:\n\n${origin}/#email=${token}\n\nIf you do not know what this is about, ignore this mail.\n`;
          // The answer does not show whether another account has the address.
          const found = await internalAdapter.findUserByEmail(to);
          if (!found || found.user.id === user.id) await sendMail(user.id, { to, subject: "Confirm your e-mail address", text });
          return ctx.json({ status: true });
        },
      ),
      verifyEmailLink: createAuthEndpoint(
        "/email-link/verify",
        { method: "POST", body: z.object({ token: z.string().max(MAX_TOKEN) }), use: [sessionMiddleware] },
        async (ctx) => {
          const { user } = ctx.context.session;
          const { internalAdapter } = ctx.context;
          const identifier = toEmailIdentifier(ctx.body.token);
          const stored = await internalAdapter.findVerificationValue(identifier);
          const claim = stored && stored.expiresAt > new Date() ? Claim.parse(JSON.parse(stored.value)) : null;
          // Another account's attempt must not use up the link, so the account is compared before the link is consumed.
          if (claim && claim.account_id !== user.id)
            throw new APIError("FORBIDDEN", { message: "The link is for another account. Sign in with that account." });
          if (claim?.from !== user.email || !(await internalAdapter.consumeVerificationValue(identifier)))
            throw new APIError("UNAUTHORIZED", {
              code: "LINK_TOO_OLD",
              message: "The link was used or is too old. Ask for a new one.",
            });
          await internalAdapter.updateUser(user.id, { email: claim.to, emailVerified: true }).catch((error: unknown) => {
            if (!isDuplicate(error)) throw error;
            throw new APIError("CONFLICT", { message: "Another account has this address meanwhile." });
          });
          return ctx.json({ status: true });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
