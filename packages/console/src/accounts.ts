import { SESSION, token, useToken } from "./api.ts";
import { openedInvite } from "./opened-links.ts";
import { replace } from "./route.ts";

/** A refusal of the sign-in. The service gives a code to refusals that a program may have to distinguish. */
class AuthError extends Error {
  readonly status: number;
  readonly code: string | null;
  constructor(message: string, status: number, code: string | null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Whether an invite was refused because its address has an account already. */
export const hasAccountAlready = (error: unknown): boolean => error instanceof AuthError && error.code === "SIGN_IN_FIRST";

/** Whether a request failed because the person is not signed in. An outdated link gets the same status. */
export const isSignedOut = (error: unknown): boolean =>
  error instanceof AuthError && error.status === 401 && error.code !== "LINK_TOO_OLD";

/** Calls an operation under `/api/auth`, which accounts mode has. If it fails, throws with the reason that the service gives. */
export async function callAuth<Answer>(method: "GET" | "POST", path: string, body: object | null = null): Promise<Answer> {
  const answer = await fetch(`/api/auth${path}`, {
    method,
    ...(body ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {}),
  });
  const received = (await answer.json().catch(() => null)) as unknown;
  if (answer.ok) return received as Answer;
  const { code, message, detail, error_description } = (received ?? {}) as Record<string, string>;
  throw new AuthError(
    error_description ?? message ?? detail ?? `The service answered ${answer.status}.`,
    answer.status,
    code ?? null,
  );
}

const post = <Answer>(path: string, body: object): Promise<Answer> => callAuth("POST", path, body);

/**
 * Extends the person's session if it is older than a week. Only answers of the sign-in carry the extended cookie, so without this
 * request a session would end after 30 days, no matter how often the person works here.
 */
export async function renewSession(): Promise<void> {
  if (token.value === SESSION) await callAuth("GET", "/get-session");
}

/** Returns a link to the console that signs a person in, or that lets an invited person create an account. */
export const toLink = (kind: "link" | "invite", secret: string): string => `${location.origin}/#${kind}=${secret}`;

/** Describes what the link of an invite does. Continues a sentence about the person. */
export const LINK_USE = "who creates an account with it, or joins with an existing one. Pass it on like a password.";

/** Signs in with the token of a link, which works only once. */
export async function signInByLink(token: string): Promise<void> {
  await post("/sign-in/link", { token });
  useToken(SESSION);
}

export async function signInByPassword(email: string, password: string): Promise<void> {
  await post("/sign-in/email", { email, password });
  useToken(SESSION);
}

/** Other services at which people have accounts. */
export const SERVICES = { github: "GitHub", google: "Google" } as const;
export type Service = keyof typeof SERVICES;

const LEFT_KEY = "board.left-to-sign-in";

/** Sends the browser to another service, at which the person has an account. The service sends it back to this page. */
export async function leaveToService(provider: Service): Promise<void> {
  const { url } = await post<{ url: string }>("/sign-in/social", { provider, callbackURL: "/" });
  sessionStorage.setItem(LEFT_KEY, provider);
  location.assign(url);
}

/** Completes a sign-in at another service: uses the session that was created there, or throws the error that it returned. */
export async function returnFromService(): Promise<void> {
  if (sessionStorage.getItem(LEFT_KEY) === null) return;
  sessionStorage.removeItem(LEFT_KEY);
  const error = new URLSearchParams(location.search).get("error");
  if (error) replace("/");
  if (await callAuth("GET", "/get-session")) useToken(SESSION);
  else if (error) throw new Error(`Nobody here has that account (${error}). Open your invite first, or sign in another way.`);
}

/** Sends the browser to another service, so that the person can sign in with their account there from then on. */
export async function leaveToConnect(provider: Service): Promise<void> {
  location.assign((await post<{ url: string }>("/link-social", { provider, callbackURL: "/" })).url);
}

export async function askForMail(email: string): Promise<void> {
  await post("/sign-in/magic-link", { email });
}

/** Signs in with the token of a link from an e-mail. */
export async function signInByMail(token: string): Promise<void> {
  await post("/magic-link/verify", { token });
  useToken(SESSION);
}

/** Asks for a mail with a link that verifies the person's e-mail address, or replaces it by `email`. */
export async function askForVerification(email?: string): Promise<void> {
  await post("/email-link", email === undefined ? {} : { email });
}

export async function verifyAddress(token: string): Promise<void> {
  await post("/email-link/verify", { token });
}

/** Creates the account of an invited person, and signs that person in. */
export async function joinByInvite(token: string, name: string, password: string): Promise<void> {
  await post("/sign-up/invite", { token, name, ...(password ? { password } : {}) });
  openedInvite.forget();
  useToken(SESSION);
}

/** A program that asks the person for access to their account. */
export interface AskingProgram {
  client_id: string;
  /** The name that the program gives itself. */
  name: string;
  /** Whether the program asks for write access. */
  writes: boolean;
  /** Whether the program is the command line, which signs in with all rights of the person. */
  signsIn: boolean;
  /** The host to which the browser is sent after the answer. */
  target?: string;
  /** The code that the device shows. */
  code?: string;
}

const asksToWrite = (scope: string | null | undefined) => (scope ?? "").split(" ").includes("write");

/** Reads which program sent the signed request for an authorization. */
export async function readProgram(request: string): Promise<AskingProgram> {
  const fields = new URLSearchParams(request);
  const client_id = fields.get("client_id") ?? "";
  const name = await nameOfClient(client_id);
  const redirect = fields.get("redirect_uri") ?? "";
  const target = URL.canParse(redirect) ? new URL(redirect).host || new URL(redirect).protocol : redirect;
  return { client_id, name, writes: asksToWrite(fields.get("scope")), signsIn: false, target };
}

const nameOfClient = async (client_id: string): Promise<string> =>
  (await callAuth<{ client_name?: string }>("GET", `/oauth2/public-client?client_id=${encodeURIComponent(client_id)}`))
    .client_name ?? client_id;

/** Reads which device shows a code, and makes sure that only this person can approve it. */
export async function readDevice(code: string): Promise<AskingProgram> {
  const { status, client_id, scope } = await callAuth<{ status: string; client_id?: string; scope?: string | null }>(
    "GET",
    `/device?user_code=${encodeURIComponent(code)}`,
  );
  if (status !== "pending" || !client_id) throw new Error("This code was used before.");
  const signsIn = client_id === COMMAND_LINE_ID;
  const name = signsIn ? "the command line" : await nameOfClient(client_id);
  return { client_id, name, code, writes: asksToWrite(scope), signsIn };
}

const COMMAND_LINE_ID = "board";

/** Sends the person's answer. Returns the program's address, at which the browser continues. */
export async function answerProgram(oauth_query: string, accept: boolean, rights: object = {}): Promise<string> {
  return (await post<{ url: string }>("/oauth2/consent", { accept, oauth_query, ...rights })).url;
}

export async function answerDevice(userCode: string, accept: boolean, rights: object = {}): Promise<void> {
  await post(accept ? "/device/approve" : "/device/deny", { userCode, ...rights });
}

/** Whether the browser has passkeys for this page. They need a name, so an IP address has none. */
export const canUsePasskeys = "PublicKeyCredential" in globalThis && !/^[\d.]+$|^\[/.test(location.hostname);

export async function signInByPasskey(): Promise<void> {
  const options = await callAuth<PublicKeyCredentialRequestOptionsJSON>("GET", "/passkey/generate-authenticate-options");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  await post("/passkey/verify-authentication", { response: credential.toJSON() });
  useToken(SESSION);
}
