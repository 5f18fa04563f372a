import type { HttpClient } from "@board/core/context/http-client";
import {
  auth,
  type AuthorizationServerMetadata,
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { Browser } from "./support.ts";

type Request = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface ProgramOptions {
  request: Request;
  origin: string;
  /** The address of the program's metadata document. Without a document the program registers itself. */
  clientMetadataUrl?: string;
  metadata?: Partial<OAuthClientMetadata>;
  /** The redirect address, to which the browser brings the answer. */
  redirect?: string;
}

const REDIRECT = "http://127.0.0.1:7777/callback";

/** Starts a program with the official MCP client. `authorization` is the address of the page that the client opens to sign in. */
export function startProgram({ request, origin, clientMetadataUrl, metadata, redirect = REDIRECT }: ProgramOptions) {
  let information: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  const program = {
    authorization: null as URL | null,
    get tokens() {
      return tokens;
    },
    set tokens(stored) {
      tokens = stored;
    },
    get verifier() {
      return verifier;
    },
    set verifier(value) {
      verifier = value;
    },
    get client_id() {
      return information!.client_id;
    },
    get metadata(): AuthorizationServerMetadata {
      return discovery!.authorizationServerMetadata!;
    },
    transport: null as unknown as StreamableHTTPClientTransport,
    /** Connects, or throws `UnauthorizedError` after `authorization` was set. */
    async connect(): Promise<Client> {
      program.transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), {
        authProvider: provider,
        fetch: (url, init) => request(url, init as RequestInit),
      });
      const client = new Client({ name: "test", version: "1" });
      await client.connect(program.transport);
      return client;
    },
    /** Continues with the answer that the browser brings to the redirect address. */
    finish: (answer: string) => program.transport.finishAuth(new URL(answer).searchParams),
  };
  const provider: OAuthClientProvider = {
    redirectUrl: redirect,
    ...(clientMetadataUrl && { clientMetadataUrl }),
    clientMetadata: {
      client_name: "Test program",
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
      ...metadata,
    },
    state: () => "the-state",
    clientInformation: () => information,
    saveClientInformation: (saved) => void (information = saved),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    redirectToAuthorization: (url) => void (program.authorization = url),
    saveCodeVerifier: (saved) => void (verifier = saved),
    codeVerifier: () => verifier,
    discoveryState: () => discovery,
    saveDiscoveryState: (saved) => void (discovery = saved),
    invalidateCredentials: (scope) => {
      if (scope === "tokens" || scope === "all") tokens = undefined;
    },
  };
  return program;
}

export type Program = ReturnType<typeof startProgram>;

/** Opens the consent page of an authorization. Returns the signed request in the page's address. */
export async function openConsent(browser: Browser, authorization: URL): Promise<string> {
  const { status, headers } = await browser.send("GET", `${authorization.pathname}${authorization.search}`);
  const location = headers.get("location") ?? "";
  if (status !== 302 || !location.startsWith("/#connect?")) throw new Error(`No page of consent: ${status} ${location}`);
  return location.slice("/#connect?".length);
}

/** Opens the page and agrees. Returns the address to which the person is sent back. */
export async function agree(browser: Browser, authorization: URL, choice: object = {}): Promise<string> {
  const oauth_query = await openConsent(browser, authorization);
  const answer = await browser.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query, ...choice });
  if (answer.status !== 200) throw new Error(`Consent was refused: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.url;
}

/** Connects as a person does: the client opens a page, the person agrees, and the client continues. */
export async function connect(program: Program, browser: Browser, choice?: object): Promise<Client> {
  const refused = await program.connect().catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedError)) throw refused;
  await program.finish(await agree(browser, program.authorization!, choice));
  return program.connect();
}

interface DeviceAnswer {
  device_code: string;
  user_code: string;
  verification_uri: string;
}

/** Connects a client without a browser. `approve` is what the person does with the code. */
export async function connectByDevice(
  { request, origin }: Pick<ProgramOptions, "request" | "origin">,
  approve: (shown: DeviceAnswer) => Promise<void>,
): Promise<Client> {
  let information: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const provider: OAuthClientProvider = {
    redirectUrl: undefined,
    // The type requires a redirect address, but a device has none.
    clientMetadata: {
      client_name: "Device program",
      grant_types: [grant_type, "refresh_token"],
      response_types: [],
      token_endpoint_auth_method: "none",
    } as unknown as OAuthClientMetadata,
    clientInformation: () => information,
    saveClientInformation: (saved) => void (information = saved),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
    async prepareTokenRequest(scope) {
      const body = new URLSearchParams({
        client_id: information!.client_id,
        scope: scope ?? "",
        resource: `${origin}/mcp`,
      });
      const answer = await request(`${origin}/api/auth/device/code`, { method: "POST", body });
      const shown = (await answer.json()) as DeviceAnswer;
      await approve(shown);
      return new URLSearchParams({ grant_type, device_code: shown.device_code });
    },
  };
  const fetchFn = (url: string | URL, init?: RequestInit) => request(url, init);
  await auth(provider, { serverUrl: `${origin}/mcp`, fetchFn });
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider: provider, fetch: fetchFn });
  const client = new Client({ name: "device", version: "1" });
  await client.connect(transport);
  return client;
}

/** Returns an HTTP client for which only these documents exist. */
export const documentsOf = (documents: Record<string, object>): HttpClient => ({
  async get(url) {
    const document = documents[url];
    const body = Buffer.from(JSON.stringify(document ?? {}));
    const status = document ? 200 : 404;
    return { status, headers: { "content-type": "application/json" }, body: once(body) };
  },
  post: () => Promise.reject(new Error("nothing is posted")),
  checkReceiver: () => Promise.resolve(),
});

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield body;
}
