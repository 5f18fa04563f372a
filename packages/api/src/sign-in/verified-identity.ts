import type { Identity } from "@board/core/organization/identity";

/** The person that an access token identifies, and when the token expires (null if it never does). */
export interface VerifiedIdentity {
  identity: Identity;
  expires_at: Date | null;
}

/** A program that a person has connected. It acts with an API key, and its token is accepted at only one address. */
export interface Connection {
  key_id: string;
  resource: string;
}

/**
 * Verifies an access token. Resolves to null if the token is not valid, and to `unchecked` if the issuer's keys cannot be read.
 */
export type UserVerifier = (token: string) => Promise<VerifiedIdentity | Connection | "unchecked" | null>;

export const isConnection = (verified: VerifiedIdentity | Connection): verified is Connection => "key_id" in verified;
