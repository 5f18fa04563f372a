import type { Identity } from "@board/core/organization/identity";

/** The person whom an access token identifies, and when the token expires; null when it never expires. */
export interface VerifiedIdentity {
  identity: Identity;
  expires_at: Date | null;
}

/**
 * Verifies an access token. Resolves with null when the token is not valid, and `unchecked` when the issuer's keys cannot be
 * read.
 */
export type UserVerifier = (token: string) => Promise<VerifiedIdentity | "unchecked" | null>;
