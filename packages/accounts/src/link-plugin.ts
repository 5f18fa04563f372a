import { createAuthEndpoint } from "better-auth/api";
import type { BetterAuthPlugin } from "better-auth";
import { setSessionCookie } from "better-auth/cookies";
import * as z from "zod";
import { parseLinkValue, type StoredLink, toIdentifier } from "./link.ts";

const MAX_TOKEN = 200;

/**
 * Signs in by a link that works once: for the owner's first visit, and for accounts whose person has lost every other way to sign
 * in. The token is behind the #, and the page posts it, so that a program that merely opens the link does not use it up.
 * `isAllowed` returns whether the maker of the link might still make it.
 */
export const accessLink = (isAllowed: (link: StoredLink) => Promise<boolean>) =>
  ({
    id: "access-link",
    endpoints: {
      signInByLink: createAuthEndpoint(
        "/sign-in/link",
        { method: "POST", body: z.object({ token: z.string().max(MAX_TOKEN) }) },
        async (ctx) => {
          const { internalAdapter } = ctx.context;
          const stored = await internalAdapter.consumeVerificationValue(toIdentifier(ctx.body.token));
          const link = stored && parseLinkValue(stored.value);
          const found = link && (await isAllowed(link)) ? await internalAdapter.findUserById(link.account_id) : null;
          if (!found) throw ctx.error("UNAUTHORIZED", { message: "The link was used or is too old. Ask for a new one." });
          const session = await internalAdapter.createSession(found.id);
          await setSessionCookie(ctx, { session, user: found });
          return ctx.json({ user: { id: found.id, name: found.name } });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
