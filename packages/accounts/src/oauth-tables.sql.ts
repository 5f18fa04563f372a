import { api_keys } from "@board/core/schema/key.sql";
import { boolean, index, integer, jsonb, text, unique, uuid } from "drizzle-orm/pg-core";
import { accounts, id, session, time, user } from "./tables.sql.ts";

/** A program that people connect. It registers itself, or is identified by the address of its metadata document. */
export const oauthClient = accounts.table(
  "oauth_client",
  {
    ...id,
    clientId: text("client_id").notNull().unique(),
    clientSecret: text("client_secret"),
    clientDiscoveryId: text("client_discovery_id"),
    disabled: boolean().default(false),
    skipConsent: boolean("skip_consent"),
    enableEndSession: boolean("enable_end_session"),
    subjectType: text("subject_type"),
    scopes: text().array(),
    clientCredentialsScopes: text("client_credentials_scopes").array(),
    userId: text("user_id").references(() => user.id, { onDelete: "cascade" }),
    createdAt: time("created_at"),
    updatedAt: time("updated_at"),
    name: text(),
    uri: text(),
    icon: text(),
    contacts: text().array(),
    tos: text(),
    policy: text(),
    softwareId: text("software_id"),
    softwareVersion: text("software_version"),
    softwareStatement: text("software_statement"),
    redirectUris: text("redirect_uris").array().notNull(),
    postLogoutRedirectUris: text("post_logout_redirect_uris").array(),
    backchannelLogoutUri: text("backchannel_logout_uri"),
    backchannelLogoutSessionRequired: boolean("backchannel_logout_session_required"),
    tokenEndpointAuthMethod: text("token_endpoint_auth_method"),
    applicationType: text("application_type"),
    jwks: text(),
    jwksUri: text("jwks_uri"),
    grantTypes: text("grant_types").array(),
    responseTypes: text("response_types").array(),
    requirePKCE: boolean("require_pkce"),
    dpopBoundAccessTokens: boolean("dpop_bound_access_tokens").default(false),
    referenceId: text("reference_id"),
    metadata: jsonb(),
  },
  (t) => [index("oauth_client_by_user").on(t.userId), index("oauth_client_by_creation").on(t.createdAt)],
);

/** The resources for which tokens are issued: the MCP endpoint, under every address that the service has had. */
export const oauthResource = accounts.table("oauth_resource", {
  ...id,
  identifier: text().notNull().unique(),
  name: text().notNull(),
  accessTokenTtl: integer("access_token_ttl"),
  refreshTokenTtl: integer("refresh_token_ttl"),
  signingAlgorithm: text("signing_algorithm"),
  signingKeyId: text("signing_key_id"),
  allowedScopes: text("allowed_scopes").array(),
  customClaims: jsonb("custom_claims"),
  dpopBoundAccessTokensRequired: boolean("dpop_bound_access_tokens_required").default(false),
  disabled: boolean().default(false),
  createdAt: time("created_at"),
  updatedAt: time("updated_at"),
  policyVersion: integer("policy_version").default(1),
  metadata: jsonb(),
});

const ofClient = () =>
  text("client_id")
    .notNull()
    .references(() => oauthClient.clientId, { onDelete: "cascade" });

export const oauthClientResource = accounts.table(
  "oauth_client_resource",
  {
    ...id,
    clientId: ofClient(),
    resourceId: text("resource_id")
      .notNull()
      .references(() => oauthResource.identifier, { onDelete: "cascade" }),
    metadata: jsonb(),
    createdAt: time("created_at"),
  },
  (t) => [
    unique("oauth_client_resource_pair").on(t.clientId, t.resourceId),
    index("oauth_client_resource_by_resource").on(t.resourceId),
  ],
);

/**
 * Declares the column for the API key with which a program acts. When the key is revoked, everything issued for it becomes invalid.
 */
const ofKey = () => uuid("reference_id").references(() => api_keys.id, { onDelete: "cascade" });
const ofSession = () => text("session_id").references(() => session.id, { onDelete: "set null" });
const ofPerson = () =>
  text("user_id")
    .notNull()
    .references(() => user.id, { onDelete: "cascade" });

export const oauthRefreshToken = accounts.table(
  "oauth_refresh_token",
  {
    ...id,
    token: text().notNull().unique(),
    clientId: ofClient(),
    sessionId: ofSession(),
    userId: ofPerson(),
    referenceId: ofKey(),
    authorizationCodeId: text("authorization_code_id"),
    resources: text().array(),
    requestedUserInfoClaims: text("requested_user_info_claims").array(),
    expiresAt: time("expires_at").notNull(),
    createdAt: time("created_at").notNull(),
    revoked: time("revoked"),
    rotatedAt: time("rotated_at"),
    rotationReplayResponse: text("rotation_replay_response"),
    rotationReplayExpiresAt: time("rotation_replay_expires_at"),
    authTime: time("auth_time"),
    confirmation: jsonb(),
    scopes: text().array().notNull(),
  },
  (t) => [
    index("oauth_refresh_token_by_client").on(t.clientId),
    index("oauth_refresh_token_by_session").on(t.sessionId),
    index("oauth_refresh_token_by_user").on(t.userId),
    index("oauth_refresh_token_by_key").on(t.referenceId),
    index("oauth_refresh_token_by_code").on(t.authorizationCodeId),
    index("oauth_refresh_token_by_expiry").on(t.expiresAt),
  ],
);

export const oauthAccessToken = accounts.table(
  "oauth_access_token",
  {
    ...id,
    token: text().notNull().unique(),
    clientId: ofClient(),
    sessionId: ofSession(),
    userId: text("user_id").references(() => user.id, { onDelete: "cascade" }),
    referenceId: ofKey(),
    authorizationCodeId: text("authorization_code_id"),
    resources: text().array(),
    requestedUserInfoClaims: text("requested_user_info_claims").array(),
    refreshId: text("refresh_id").references(() => oauthRefreshToken.id, { onDelete: "cascade" }),
    expiresAt: time("expires_at").notNull(),
    createdAt: time("created_at").notNull(),
    revoked: time("revoked"),
    confirmation: jsonb(),
    scopes: text().array().notNull(),
  },
  (t) => [
    index("oauth_access_token_by_client").on(t.clientId),
    index("oauth_access_token_by_session").on(t.sessionId),
    index("oauth_access_token_by_user").on(t.userId),
    index("oauth_access_token_by_key").on(t.referenceId),
    index("oauth_access_token_by_code").on(t.authorizationCodeId),
    index("oauth_access_token_by_refresh").on(t.refreshId),
    index("oauth_access_token_by_expiry").on(t.expiresAt),
  ],
);

export const oauthConsent = accounts.table(
  "oauth_consent",
  {
    ...id,
    clientId: ofClient(),
    userId: text("user_id").references(() => user.id, { onDelete: "cascade" }),
    referenceId: ofKey(),
    resources: text().array(),
    requestedUserInfoClaims: text("requested_user_info_claims").array(),
    scopes: text().array().notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (t) => [
    index("oauth_consent_by_client").on(t.clientId),
    index("oauth_consent_by_user").on(t.userId),
    index("oauth_consent_by_key").on(t.referenceId),
  ],
);

/**
 * The signed statements (client assertions) with which clients have signed in. They are stored so that each is accepted only once.
 */
export const oauthClientAssertion = accounts.table(
  "oauth_client_assertion",
  { ...id, expiresAt: time("expires_at").notNull() },
  (t) => [index("oauth_client_assertion_by_expiry").on(t.expiresAt)],
);

/** Codes that a device shows and that a person approves in a browser. */
export const deviceCode = accounts.table(
  "device_code",
  {
    ...id,
    deviceCode: text("device_code").notNull().unique(),
    userCode: text("user_code").notNull().unique(),
    userId: text("user_id"),
    expiresAt: time("expires_at").notNull(),
    status: text().notNull(),
    lastPolledAt: time("last_polled_at"),
    pollingInterval: integer("polling_interval"),
    clientId: text("client_id"),
    scope: text(),
    resources: text().array(),
    oauthClientId: text("oauth_client_id"),
    /** The API key with which the program acts, created when the person approves. The library does not know this column. */
    keyId: uuid("key_id").references(() => api_keys.id, { onDelete: "cascade" }),
  },
  (t) => [index("device_code_by_expiry").on(t.expiresAt), index("device_code_by_key").on(t.keyId)],
);
