import type { Log } from "@board/core/log";
import { errorText } from "@board/core/log";
import type { Identity } from "@board/core/organization/user";
import type { OidcAuth } from "@board/core/settings";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { createKeySet, KeysUnavailable } from "./key-set.ts";
import type { UserVerifier } from "./verified-identity.ts";

/** Only asymmetric algorithms: with a shared-secret one, an attacker could sign tokens with the issuer's public key. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const SKEW_SECONDS = 10;

/** Creates a verifier for tokens of an OIDC identity provider. */
export function createOidcVerifier(settings: OidcAuth, log: Log): UserVerifier {
  const keys = createKeySet(settings.jwks_url, log);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer: settings.issuer,
        clockTolerance: SKEW_SECONDS,
        requiredClaims: ["sub", "exp"],
        ...(settings.audience ? { audience: settings.audience } : {}),
      });
      const parties = settings.authorized_parties;
      if (parties.length > 0 && !(typeof payload["azp"] === "string" && parties.includes(payload["azp"]))) return null;
      const identity = toIdentity(payload);
      return identity && { identity, expires_at: new Date((payload.exp! + SKEW_SECONDS) * 1000) };
    } catch (error) {
      if (error instanceof KeysUnavailable) return "unchecked";
      if (!(error instanceof errors.JOSEError))
        log.error("auth.key_invalid", "A key of the identity provider cannot be used", { error: errorText(error) });
      return null;
    }
  };
}

function toIdentity(claims: JWTPayload): Identity | null {
  const subject = toClaimText(claims.sub);
  // Never trimmed or cut: two subjects could become equal, and so two people one user.
  if (!subject || subject !== claims.sub) return null;
  const fullName = [toClaimText(claims["given_name"]), toClaimText(claims["family_name"])].filter(Boolean).join(" ");
  return {
    subject,
    email: emailOf(claims)?.toLowerCase() ?? null,
    name: toClaimText(claims["name"]) ?? toClaimText(claims["full_name"]) ?? (fullName || null),
  };
}

function emailOf(claims: JWTPayload): string | null {
  const direct =
    toClaimText(claims["email"]) ?? toClaimText(claims["email_address"]) ?? toClaimText(claims["primary_email_address"]);
  if (direct) return direct;
  const list = claims["email_addresses"];
  if (!Array.isArray(list)) return null;
  const entries = list.map((entry: unknown) =>
    typeof entry === "string" ? { address: entry, primary: false } : toEmailEntry(entry as Record<string, unknown> | null),
  );
  return (entries.find((entry) => entry.primary && entry.address) ?? entries.find((entry) => entry.address))?.address ?? null;
}

const toEmailEntry = (entry: Record<string, unknown> | null) => ({
  address: toClaimText(entry?.["email_address"]) ?? toClaimText(entry?.["email"]),
  primary: entry?.["primary"] === true || entry?.["is_primary"] === true,
});

const MAX_CLAIM_CHARS = 320;
const toClaimText = (claim: unknown): string | null =>
  typeof claim === "string" && claim.trim() && claim.isWellFormed() && !claim.includes("\0")
    ? claim.trim().slice(0, MAX_CLAIM_CHARS)
    : null;
