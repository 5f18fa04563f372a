import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;
export const LINK_HOURS = 24;

/** A token that signs in as an account once. */
export const mintLinkToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");

/** The name under which a link is stored. The token itself is not stored. */
export const toIdentifier = (token: string): string => `link:${createHash("sha256").update(token).digest("base64url")}`;
