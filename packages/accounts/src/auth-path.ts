/** The path below which people sign in and manage their account (docs/reference/accounts.md). */
export const AUTH_PATH = "/api/auth";
