/** Nobody can have an e-mail address in this domain (RFC 2606). */
const UNKNOWN_DOMAIN = "accounts.invalid";

/** Creates the address of an account whose person has not given one, because the library requires an address. */
export const createUnknownAddress = (): string => `owner-${crypto.randomUUID()}@${UNKNOWN_DOMAIN}`;

export const isUnknownAddress = (email: string): boolean => email.endsWith(`@${UNKNOWN_DOMAIN}`);
