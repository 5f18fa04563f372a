import { AUTH_PATH } from "./auth-path.ts";

/** Where clients find out what the authorization server offers. By RFC 8414, the issuer's path comes last in this address. */
const METADATA_PATH = `/.well-known/oauth-authorization-server${AUTH_PATH}`;

/** The paths of the library's OAuth provider that the service offers. Its other paths manage clients, which no person owns here. */
const OAUTH_PATHS = new Set([
  "/oauth2/authorize",
  "/oauth2/consent",
  "/oauth2/public-client",
  "/oauth2/register",
  "/oauth2/revoke",
  "/oauth2/token",
]);

/** Returns whether the library answers requests to this path. */
export function isServed(pathname: string): boolean {
  if (pathname === METADATA_PATH) return true;
  const path = pathname.slice(AUTH_PATH.length);
  return /^\/(?:oauth2|admin|\.well-known)\b/.test(path) ? OAUTH_PATHS.has(path) : true;
}
