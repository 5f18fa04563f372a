/**
 * Sign-in at an identity provider: authorization code with PKCE (RFC 7636), as a public client. Loaded only when it is needed.
 */
import * as oauth from "oauth4webapi";
import type { Provider } from "./oidc.ts";
import { replace } from "./route.ts";

/** What the page must remember until the provider returns the person to it. */
interface Attempt {
  state: string;
  verifier: string;
  /** The fragment of the address, which names the view that was open when the person left for the provider. */
  fragment: string;
}

const ATTEMPT_KEY = "board.sign-in";

const redirectUri = (): string => `${location.origin}/`;

/**
 * Reads the metadata of the provider. Unencrypted http is allowed only if the issuer's address begins with http, as for a local
 * provider.
 */
async function discover({ issuer, client_id }: Provider) {
  const url = new URL(issuer);
  const options = { [oauth.allowInsecureRequests]: url.protocol === "http:" };
  const answer = await oauth.discoveryRequest(url, options);
  if (!answer.ok) throw new Error(`The identity provider answered ${answer.status} at ${answer.url}.`);
  const server = await oauth.processDiscoveryResponse(url, answer);
  return { server, client: { client_id }, options };
}

/** Redirects the person to the provider. */
export async function leave(provider: Provider): Promise<void> {
  const { scope, audience, client_id } = provider;
  const { server } = await discover(provider);
  if (!server.authorization_endpoint) throw new Error("The identity provider has no page to sign in.");
  const verifier = oauth.generateRandomCodeVerifier();
  const attempt: Attempt = { state: oauth.generateRandomState(), verifier, fragment: location.hash };
  sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt));
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id,
    redirect_uri: redirectUri(),
    scope,
    state: attempt.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...(audience ? { audience } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** Exchanges the code in the address for a token, and restores the earlier address. */
export async function finish(provider: Provider): Promise<string> {
  const returned = new URL(location.href);
  const attempt = JSON.parse(sessionStorage.getItem(ATTEMPT_KEY) ?? "null") as Attempt | null;
  sessionStorage.removeItem(ATTEMPT_KEY);
  replace(`/${attempt?.fragment ?? ""}`);
  if (!attempt || returned.searchParams.get("state") !== attempt.state)
    throw new Error("This sign-in was started in another window. Try again.");
  try {
    const { server, client, options } = await discover(provider);
    const answer = oauth.validateAuthResponse(server, client, returned, attempt.state);
    const { verifier } = attempt;
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      answer,
      redirectUri(),
      verifier,
      options,
    );
    return toSessionToken(await oauth.processAuthorizationCodeResponse(server, client, response));
  } catch (error) {
    throw toReason(error);
  }
}

/** Returns an error with the provider's own explanation, which is in its answer and not in the library's message. */
function toReason(error: unknown): unknown {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return new Error(`The identity provider refused the sign-in: ${error.error_description ?? error.error}`);
  return error;
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
