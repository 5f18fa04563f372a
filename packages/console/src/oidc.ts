import { replace } from "./route.ts";

/** Sign-in at an identity provider: authorization code with PKCE (RFC 7636), as a public client. */

export interface Provider {
  issuer: string;
  client_id: string;
  scope: string;
  audience: string | null;
}

interface Metadata {
  authorization_endpoint: string;
  token_endpoint: string;
}

/** What the page must remember until the provider returns the person to it. */
interface Attempt {
  state: string;
  verifier: string;
  /** The view from which the person left. */
  fragment: string;
}

const ATTEMPT_KEY = "board.sign-in";

const redirectUri = (): string => `${location.origin}/`;

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const randomText = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));

async function readMetadata(issuer: string): Promise<Metadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`The identity provider answered ${answer.status} at ${url}.`);
  return (await answer.json()) as Metadata;
}

/** Redirects the person to the provider. */
export async function leaveToSignIn({ issuer, client_id, scope, audience }: Provider): Promise<void> {
  const { authorization_endpoint } = await readMetadata(issuer);
  const attempt: Attempt = { state: randomText(), verifier: randomText(), fragment: location.hash };
  sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt));
  const challenge = toBase64Url(
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier))),
  );
  const url = new URL(authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id,
    redirect_uri: redirectUri(),
    scope,
    state: attempt.state,
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...(audience ? { audience } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** Whether the provider has redirected the person back to this page. */
export const hasReturned = (): boolean => /[?&](code|error)=/.test(location.search) && /[?&]state=/.test(location.search);

/** Exchanges the code in the address for a token, and restores the earlier address. */
export async function finishSignIn({ issuer, client_id }: Provider): Promise<string> {
  const answer = new URLSearchParams(location.search);
  const attempt = JSON.parse(sessionStorage.getItem(ATTEMPT_KEY) ?? "null") as Attempt | null;
  sessionStorage.removeItem(ATTEMPT_KEY);
  replace(`/${attempt?.fragment ?? ""}`);
  if (!attempt || answer.get("state") !== attempt.state)
    throw new Error("This sign-in was started in another window. Try again.");
  const error = answer.get("error");
  if (error) throw new Error(`The identity provider refused the sign-in: ${answer.get("error_description") ?? error}`);
  const { token_endpoint } = await readMetadata(issuer);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: redirectUri(),
    client_id,
    code_verifier: attempt.verifier,
  });
  const response = await fetch(token_endpoint, { method: "POST", body });
  if (!response.ok) throw new Error(`The identity provider answered ${response.status} when it was asked for a token.`);
  return toSessionToken((await response.json()) as { access_token?: string; id_token?: string });
}

/**
 * Selects the token to send. The service checks signatures itself, so it needs a JWT, and some providers issue opaque access
 * tokens.
 */
function toSessionToken({ access_token, id_token }: { access_token?: string; id_token?: string }): string {
  const isJwt = (text: string | undefined): text is string => text?.split(".").length === 3;
  if (isJwt(access_token)) return access_token;
  if (isJwt(id_token)) return id_token;
  throw new Error("The identity provider gave no token that the service can check.");
}
