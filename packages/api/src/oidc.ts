import type { Log } from "@board/core/log";
import { errorText } from "@board/core/log";
import type { Identity } from "@board/core/organization/user";
import type { OidcAuth } from "@board/core/settings";
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from "jose";
import type { VerifyUser } from "./authenticate.ts";

/** Asymmetric only: with a shared-secret algorithm the public key of the issuer would be the forger's key. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const SKEW_SECONDS = 10;
/** An unknown key id makes us ask the issuer again, at most this often. */
const REFETCH_MS = 30_000;
const KEY_SET_MS = 10 * 60_000;

/** Checks tokens of an identity provider: who signed in, or null. */
export function oidcVerifier(settings: OidcAuth, log: Log): VerifyUser {
  const keys = createRemoteJWKSet(new URL(settings.jwks_url), {
    cooldownDuration: REFETCH_MS,
    cacheMaxAge: KEY_SET_MS,
    timeoutDuration: 5_000,
  });
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
      return identity && { identity, until: new Date((payload.exp! + SKEW_SECONDS) * 1000) };
    } catch (error) {
      if (!(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout)
        log.error("auth.keys_unreachable", "The identity provider's keys cannot be read", { error: errorText(error) });
      return null;
    }
  };
}

function toIdentity(claims: JWTPayload): Identity | null {
  const subject = text(claims.sub);
  // As it is or not at all: trimmed or cut, two people could become one.
  if (!subject || subject !== claims.sub) return null;
  const given = [text(claims["given_name"]), text(claims["family_name"])].filter(Boolean).join(" ");
  return {
    subject,
    email: emailOf(claims)?.toLowerCase() ?? null,
    name: text(claims["name"]) ?? text(claims["full_name"]) ?? (given || null),
  };
}

function emailOf(claims: JWTPayload): string | null {
  const direct = text(claims["email"]) ?? text(claims["email_address"]) ?? text(claims["primary_email_address"]);
  if (direct) return direct;
  const list = claims["email_addresses"];
  if (!Array.isArray(list)) return null;
  const entries = list.map((entry: unknown) =>
    typeof entry === "string" ? { address: entry, primary: false } : fromObject(entry as Record<string, unknown> | null),
  );
  return (entries.find((entry) => entry.primary && entry.address) ?? entries.find((entry) => entry.address))?.address ?? null;
}

const fromObject = (entry: Record<string, unknown> | null) => ({
  address: text(entry?.["email_address"]) ?? text(entry?.["email"]),
  primary: entry?.["primary"] === true || entry?.["is_primary"] === true,
});

const MAX_CLAIM = 320;
const text = (claim: unknown): string | null =>
  typeof claim === "string" && claim.trim() && claim.isWellFormed() && !claim.includes("\0")
    ? claim.trim().slice(0, MAX_CLAIM)
    : null;
