import { createCimdClientDiscovery } from "@better-auth/cimd";
import {
  DEVICE_CODE_GRANT_TYPE,
  extendOAuthProvider,
  oauthDeviceAuthorization,
  oauthProvider,
  type OAuthProviderExtension,
} from "@better-auth/oauth-provider";
import { tokenLookup } from "@board/core/agent/token";
import { ownAddresses } from "@board/core/config/service-url";
import type { Settings } from "@board/core/config/settings";
import type { Context } from "@board/core/context/context";
import type { BetterAuthPlugin } from "better-auth";
import { APIError } from "better-auth/api";
import { createClientDocuments, FETCH_POLICY } from "./client-document.ts";
import { type Connections, keyOfConsent, keyOfDevice } from "./connection-plugin.ts";

/** The prefix of the access tokens of connected programs. */
export const ACCESS_PREFIX = "bt_";
const REFRESH_PREFIX = "br_";

/** What a program may ask for. `offline_access` is what OpenID Connect calls a connection that outlasts the visit. */
export const SCOPES = ["read", "write", "offline_access"] as const;

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** How long an authorization code is valid. It is also how much time a person has to sign in and agree. */
const CODE_SECONDS = 600;
/** A client that did not receive the answer to a token refresh may repeat the refresh for this long. */
const REPEAT_SECONDS = 30;

/**
 * The page of the console that asks a person to agree. The request is behind the #, which browsers do not send, so no log contains
 * it.
 */
const CONSENT_PAGE = "/#connect";
const DEVICE_PAGE = "/#device";

/** The client id of the command line, which signs in as its person. Every other program has its own client id. */
export const COMMAND_LINE_ID = "board";

/** Returns the addresses for which tokens of programs are issued. Such a token is accepted at no other address. */
export const mcpResources = (settings: Pick<Settings, "service_url">): string[] =>
  ownAddresses(settings).map((address) => `${address}/mcp`);

/** Returns the digest under which a token is stored. */
export const toStored = ({ token_pepper }: Pick<Settings, "token_pepper">, type: string, token: string): string =>
  tokenLookup(token_pepper, `${type}:${token}`);

/**
 * Creates the authorization server for MCP clients: RFC 6749 with PKCE, RFC 7591, RFC 8628, RFC 8707 and client metadata documents.
 */
export function oauthPlugins(
  settings: Settings,
  db: Context["db"],
  currentContext: () => Context,
  connections: Connections,
): BetterAuthPlugin[] {
  const provider = oauthProvider({
    scopes: [...SCOPES],
    grantTypes: ["authorization_code", "refresh_token"],
    resources: mcpResources(settings).map((identifier) => ({ identifier, name: "MCP endpoint" })),
    // All clients use the same endpoint. A list of resources per client would become wrong when the service's address changes.
    enforcePerClientResources: false,
    loginPage: CONSENT_PAGE,
    consentPage: CONSENT_PAGE,
    postLogin: {
      page: CONSENT_PAGE,
      shouldRedirect: () => false,
      consentReferenceId: ({ user, scopes }) => keyOfConsent(db, connections, user.id, scopes),
    },
    codeExpiresIn: CODE_SECONDS,
    accessTokenExpiresIn: HOUR_SECONDS,
    refreshTokenExpiresIn: 30 * DAY_SECONDS,
    refreshTokenReuseInterval: REPEAT_SECONDS,
    // Tokens are looked up in the database, so that they become invalid as soon as the connection ends.
    disableJwtPlugin: true,
    storeTokens: { hash: async (token, type) => toStored(settings, type, token) },
    prefix: { opaqueAccessToken: ACCESS_PREFIX, refreshToken: REFRESH_PREFIX },
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    clientPrivileges: () => false,
    resourcePrivileges: () => false,
  });
  return [provider, deviceGrant(db, new URL(settings.service_url).origin), clientDocuments(currentContext)] as BetterAuthPlugin[];
}

/** Finds clients that identify themselves by a metadata document, as the library's plugin `cimd` does, within our limits. */
function clientDocuments(currentContext: () => Context) {
  const { requireRoom, fetchDocument } = createClientDocuments(currentContext);
  const discovery = createCimdClientDiscovery({
    fetchClientMetadataResource: fetchDocument,
    metadataProfile: "mcp-2026-07-28",
    metadataFetchPolicy: FETCH_POLICY,
    isMetadataDocumentUrlAllowed: () => {
      requireRoom();
      return true;
    },
  });
  const resolve: typeof discovery.resolve = (ctx, client_id, known) => {
    // This refuses unknown clients before the library counts the fetch for all addresses. A known client may need no fetch.
    if (known === null) requireRoom();
    return discovery.resolve(ctx, client_id, known);
  };
  return {
    id: "cimd",
    init: (ctx: Parameters<typeof extendOAuthProvider>[0]) =>
      extendOAuthProvider(ctx, { clientDiscovery: { ...discovery, resolve } }),
  };
}

/** Creates the device grant. Its tokens belong to the API key that was created when the person agreed. */
function deviceGrant(db: Context["db"], origin: string) {
  const device = oauthDeviceAuthorization({
    verificationUri: `${origin}${DEVICE_PAGE}`,
    expiresIn: "15m",
    validateClient: (id) => id === COMMAND_LINE_ID,
  });
  // The type names only the options that the device plugin reads. Here, as in the library, the whole object is passed to the
  // provider.
  const grant = device.options.grant as unknown as OAuthProviderExtension;
  const exchange = grant.grants![DEVICE_CODE_GRANT_TYPE]!;
  return {
    ...device,
    init: (ctx: Parameters<typeof device.init>[0]) =>
      extendOAuthProvider(ctx, {
        ...grant,
        grants: {
          async [DEVICE_CODE_GRANT_TYPE](input) {
            const { device_code } = (input.ctx.body ?? {}) as { device_code?: unknown };
            const referenceId = typeof device_code === "string" ? await keyOfDevice(db, device_code) : null;
            return exchange({
              ...input,
              provider: {
                ...input.provider,
                issueTokens(params) {
                  if (referenceId === null) throw new APIError("BAD_REQUEST", { error: "access_denied" });
                  return input.provider.issueTokens({ ...params, referenceId });
                },
              },
            });
          },
        },
      }),
  };
}
