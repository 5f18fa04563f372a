import { AUTH_PATH } from "./auth-path.ts";

/** Where clients read what the authorization server offers (RFC 8414: the path of the issuer comes last). */
const METADATA_PATH = `/.well-known/oauth-authorization-server${AUTH_PATH}`;

/** What is served of the OAuth provider. The rest manages clients, of which nobody has any here. */
const OAUTH_PATHS = new Set([
  "/oauth2/authorize",
  "/oauth2/consent",
  "/oauth2/public-client",
  "/oauth2/register",
  "/oauth2/revoke",
  "/oauth2/token",
]);

/** Whether the library answers this path. */
export function isServed(pathname: string): boolean {
  if (pathname === METADATA_PATH) return true;
  const path = pathname.slice(AUTH_PATH.length);
  return /^\/(?:oauth2|admin|\.well-known)\b/.test(path) ? OAUTH_PATHS.has(path) : true;
}
