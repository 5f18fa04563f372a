import type { Identity } from "@board/core/organization/identity";

/** The person whom an access token identifies, and when the token expires; null when it never expires. */
export interface VerifiedIdentity {
  identity: Identity;
  expires_at: Date | null;
}

/** A program that a person has connected. It acts as a key, and its token counts at one address only. */
export interface Connection {
  key_id: string;
  resource: string;
}

/**
 * Verifies an access token. Resolves with null when the token is not valid, and `unchecked` when the issuer's keys cannot be
 * read.
 */
export type UserVerifier = (token: string) => Promise<VerifiedIdentity | Connection | "unchecked" | null>;

export const isConnection = (verified: VerifiedIdentity | Connection): verified is Connection => "key_id" in verified;
