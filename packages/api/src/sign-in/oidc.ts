import type { Log } from "@board/core/values/log";
import { errorText } from "@board/core/values/log";
import type { Identity } from "@board/core/organization/identity";
import type { OidcAuth } from "@board/core/config/settings";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { createKeySet, KeysUnavailable } from "./key-set.ts";
import type { UserVerifier } from "./verified-identity.ts";

/**
 * Only asymmetric algorithms are accepted. With an algorithm that uses a shared secret, an attacker could sign tokens with the
 * issuer's public key.
 */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const SKEW_SECONDS = 10;

/** Creates a verifier for tokens of an OIDC identity provider. */
export function createOidcVerifier(settings: OidcAuth, log: Log): UserVerifier {
  const keys = createKeySet(settings.jwks_url, log);
  let isWarned = false;
  /** Warns only once, since all tokens of an issuer have the same claims. */
  const warnUnverified = () => {
    if (isWarned) return;
    isWarned = true;
    log.warn(
      "auth.email_unverified",
      "A token does not say that its e-mail address is verified, so the address is not trusted: let the issuer send email_verified, or set OIDC_REQUIRE_VERIFIED_EMAIL=off if it verifies all addresses",
    );
  };
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
      const identity = toIdentity(settings, payload);
      if (identity?.email_unverified && payload["email_verified"] === undefined) warnUnverified();
      return identity && { identity, expires_at: new Date((payload.exp! + SKEW_SECONDS) * 1000) };
    } catch (error) {
      if (error instanceof KeysUnavailable) return "unchecked";
      if (!(error instanceof errors.JOSEError))
        log.error("auth.key_invalid", "A key of the identity provider cannot be used", { error: errorText(error) });
      return null;
    }
  };
}

function toIdentity({ issuer, require_verified_email }: OidcAuth, claims: JWTPayload): Identity | null {
  const subject = toClaimText(claims.sub);
  // The subject is never trimmed or shortened, because two people with similar subjects could then become one user.
  if (!subject || subject !== claims.sub) return null;
  const fullName = [toClaimText(claims["given_name"]), toClaimText(claims["family_name"])].filter(Boolean).join(" ");
  return {
    issuer,
    subject,
    ...readEmail(claims, require_verified_email ? isConfirmed : isNotDenied),
    name: toClaimText(claims["name"]) ?? toClaimText(claims["full_name"]) ?? (fullName || null),
  };
}

/**
 * Reads the e-mail address. If the provider has not verified the address, it is not trusted, because it lets a person accept
 * invites.
 */
function readEmail(claims: JWTPayload, isVerified: ClaimsCheck): Pick<Identity, "email" | "email_unverified"> {
  const direct =
    toClaimText(claims["email"]) ?? toClaimText(claims["email_address"]) ?? toClaimText(claims["primary_email_address"]);
  const claim = claims["email_verified"];
  if (direct ? !isVerified([claim]) : isDenied(claim)) return { email: null, email_unverified: true };
  if (direct) return { email: direct.toLowerCase(), email_unverified: false };
  const list = Array.isArray(claims["email_addresses"]) ? (claims["email_addresses"] as unknown[]) : [];
  const entries = list.map((entry) => toEmailEntry(entry, isVerified)).filter(({ address }) => address);
  const verified = entries.filter((entry) => entry.verified);
  const email = (verified.find((entry) => entry.primary) ?? verified[0])?.address?.toLowerCase() ?? null;
  return { email, email_unverified: email === null && entries.length > 0 };
}

/** Reads an entry of a claim with several addresses. It is a string, or an object whose fields depend on the provider. */
function toEmailEntry(value: unknown, isVerified: ClaimsCheck) {
  if (typeof value === "string") return { address: toClaimText(value), primary: false, verified: isVerified([]) };
  const entry = (value ?? {}) as Record<string, unknown>;
  const status = (entry["verification"] as Record<string, unknown> | null | undefined)?.["status"];
  return {
    address: toClaimText(entry["email_address"]) ?? toClaimText(entry["email"]),
    primary: entry["primary"] === true || entry["is_primary"] === true,
    verified: isVerified([entry["email_verified"], entry["verified"], status === undefined ? status : status === "verified"]),
  };
}

/** Returns whether these claims of a token are enough to treat an e-mail address as verified. */
type ClaimsCheck = (claims: readonly unknown[]) => boolean;
const isNotDenied: ClaimsCheck = (claims) => !claims.some(isDenied);
const isConfirmed: ClaimsCheck = (claims) => isNotDenied(claims) && claims.some(isSaid);

const isSaid = (claim: unknown): boolean => claim !== undefined && claim !== null;
/** Returns whether a claim about verification is present but not true. Some providers send the claim as a string. */
const isDenied = (claim: unknown): boolean =>
  isSaid(claim) && !(typeof claim === "string" ? /^\s*true\s*$/i.test(claim) : claim === true);

const MAX_CLAIM_CHARS = 320;
const toClaimText = (claim: unknown): string | null =>
  typeof claim === "string" && claim.trim() && claim.isWellFormed() && !claim.includes("\0")
    ? claim.trim().slice(0, MAX_CLAIM_CHARS)
    : null;
