import { createHash, timingSafeEqual } from "node:crypto";
import { LOCAL_IDENTITY } from "@board/core/organization/identity";
import type { Log } from "@board/core/values/log";
import { acceptsAnyAudience, type Settings, SettingsError } from "@board/core/config/settings";
import type { LoadAccounts } from "./accounts.ts";
import type { UserVerifier } from "./verified-identity.ts";

/** Creates the verifier for the configured AUTH_MODE. The code for other modes is not loaded. */
export function createUserVerifier({ auth }: Pick<Settings, "auth">, log: Log, accounts?: LoadAccounts): UserVerifier {
  if (auth.mode === "accounts") {
    if (!accounts) throw new SettingsError("AUTH_MODE=accounts is not available on this platform. Use AUTH_MODE=oidc.");
    return async (token) => (await accounts()).verify(token);
  }
  if (auth.mode === "local") {
    const expected = digest(auth.token);
    return async (token) => (timingSafeEqual(digest(token), expected) ? { identity: LOCAL_IDENTITY, expires_at: null } : null);
  }
  if (acceptsAnyAudience(auth))
    log.warn(
      "settings.oidc_audience_unset",
      "Any token of the issuer is accepted, even one that was issued for another service: set OIDC_AUDIENCE or OIDC_AUTHORIZED_PARTIES",
    );
  let oidc: Promise<UserVerifier> | undefined;
  return async (token) => {
    oidc ??= import("./oidc.ts").then(({ createOidcVerifier }) => createOidcVerifier(auth, log));
    return (await oidc)(token);
  };
}

/**
 * Returns a digest to compare instead of the token. Digests have a fixed length, so the comparison does not reveal the secret's
 * length.
 */
const digest = (token: string) => createHash("sha256").update(token).digest();
