/**
 * The issuer of accounts that are not users of an earlier mode. It is not a URL, so no identity provider can have the same issuer.
 */
export const ACCOUNTS_ISSUER = "accounts";
