import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;
export const LINK_HOURS = 24;

/** Creates a token with which a person can sign in to an account once. */
export const mintLinkToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");

/** Returns the name under which a link is stored. The token itself is not stored. */
export const toIdentifier = (token: string): string => `link:${digest(token)}`;

/** Returns the name under which a link that verifies an e-mail address is stored. */
export const toEmailIdentifier = (token: string): string => `email:${digest(token)}`;

const digest = (token: string): string => createHash("sha256").update(token).digest("base64url");
