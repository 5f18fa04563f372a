import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";

const TOKEN_BYTES = 32;
export const LINK_HOURS = 24;

/** Creates a token with which a person can sign in to an account once. */
export const mintLinkToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");

/** What is stored for a link: the account, and for the link of a member who made it for another member. */
const StoredLink = z.object({
  account_id: z.string(),
  made_for: z.object({ organization_id: z.string(), member_id: z.string(), maker_user_id: z.string() }).nullable(),
});
export type StoredLink = z.infer<typeof StoredLink>;

/** Links of the operator are stored as the account's id alone, as in earlier versions. */
export const toLinkValue = (link: StoredLink): string => (link.made_for ? JSON.stringify(link) : link.account_id);

export const parseLinkValue = (value: string): StoredLink =>
  value.startsWith("{") ? StoredLink.parse(JSON.parse(value)) : { account_id: value, made_for: null };

/** Returns the name under which a link is stored. The token itself is not stored. */
export const toIdentifier = (token: string): string => `link:${digest(token)}`;

/** Returns the name under which a link that verifies an e-mail address is stored. */
export const toEmailIdentifier = (token: string): string => `email:${digest(token)}`;

const digest = (token: string): string => createHash("sha256").update(token).digest("base64url");
