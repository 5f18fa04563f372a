import { createHmac } from "node:crypto";
import { drizzleAdapter } from "@better-auth/drizzle-adapter";
import { passkey } from "@better-auth/passkey";
import type { AccountsAuth, Settings } from "@board/core/config/settings";
import type { Context } from "@board/core/context/context";
import type { Db } from "@board/core/context/db";
import type { AccountMail } from "@board/core/mail/account-mail";
import { betterAuth, type GenericEndpointContext } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { magicLink } from "better-auth/plugins";
import { asApiCall } from "./api-error.ts";
import { type AuditAccount, auditChange } from "./audit.ts";
import { AUTH_PATH } from "./auth-path.ts";
import { connection, type Connections } from "./connection-plugin.ts";
import { emailLink } from "./email-plugin.ts";
import { type Invites, invitation } from "./invite-plugin.ts";
import { ACCOUNTS_ISSUER } from "./issuer.ts";
import type { StoredLink } from "./link.ts";
import { accessLink } from "./link-plugin.ts";
import { type CreateMemberLink, memberLink } from "./member-link-plugin.ts";
import { oauthPlugins } from "./oauth.ts";
import { toMailLink } from "./mail-link.ts";
import * as oauthTables from "./oauth-tables.sql.ts";
import { firstPassword } from "./password-plugin.ts";
import { MAX_PASSWORD, MIN_PASSWORD, requireUncommonPassword } from "./password.ts";
import { sessionToken } from "./session-token.ts";
import * as tables from "./tables.sql.ts";

/** The header in which the service names the client's address. If the client sends this header itself, the header is removed. */
export const ADDRESS_HEADER = "x-board-client-address";

const DAY_SECONDS = 86_400;
const SESSION_DAYS = 30;
/** Allows `max` attempts in `window` seconds from one address. The number is low, because hashing a password is slow on purpose. */
const ATTEMPTS = { window: 60, max: 10 };
const PASSWORD_PATH = "/sign-in/email";
const PASSKEY_PATH = "/passkey/verify-authentication";
const GUARDED = [
  "/sign-in/*",
  "/sign-up/*",
  "/change-password",
  "/change-email",
  "/add-password",
  "/email-link",
  "/email-link/verify",
  PASSKEY_PATH,
  "/device",
];

export type SendMail = (account_id: string, mail: AccountMail) => Promise<void>;

export interface AccountsOptions {
  settings: Settings & { auth: AccountsAuth };
  db: Db;
  /** Returns the context of the request that is being answered. */
  currentContext: () => Context;
  /** Sends a mail on behalf of an account. Null if the service sends no mails. */
  sendMail: SendMail | null;
  invites: Invites;
  attempts: Attempts;
  connections: Connections;
  createMemberLink: CreateMemberLink;
  /** Returns whether the person who made a link might still make it. */
  isLinkAllowed: (link: StoredLink) => Promise<boolean>;
  audit: AuditAccount;
}

/** Limits how many passwords are tried for one account per minute, no matter from how many addresses. */
export interface Attempts {
  /**
   * Throws a `DomainError` above the limit. E-mail addresses without an account are counted too, so that nobody can find out
   * which ones have an account.
   */
  count(email: string): Promise<void>;
  /** Subtracts an attempt that succeeded. */
  forget(email: string): Promise<void>;
  /** Throws a `DomainError` above the limit of mails to an e-mail address, no matter who asks for them. */
  countMail(email: string): Promise<void>;
}

export type Auth = ReturnType<typeof createAuth>;

/** Creates the sign-in of people with better-auth. Accounts are created by invites, so nobody can sign up. */
export function createAuth(options: AccountsOptions) {
  const { settings, db, currentContext, sendMail, invites, attempts, connections, createMemberLink, isLinkAllowed, audit } =
    options;
  const { github, google } = settings.auth;
  const origin = new URL(settings.service_url).origin;
  return betterAuth({
    appName: "Board",
    baseURL: origin,
    basePath: AUTH_PATH,
    secret: createHmac("sha256", settings.encryption_key).update("accounts").digest("base64url"),
    database: drizzleAdapter(db, { provider: "pg", schema: { ...tables, ...oauthTables } }),
    trustedOrigins: [...ownOrigins(origin), ...settings.cors_origins],
    telemetry: { enabled: false },
    user: {
      additionalFields: {
        issuer: { type: "string", required: true, input: false, defaultValue: ACCOUNTS_ISSUER },
        subject: { type: "string", required: true, input: false, defaultValue: () => crypto.randomUUID() },
      },
      changeEmail: { enabled: true, updateEmailWithoutVerification: true },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: MIN_PASSWORD,
      maxPasswordLength: MAX_PASSWORD,
      revokeSessionsOnPasswordReset: true,
    },
    session: {
      expiresIn: SESSION_DAYS * DAY_SECONDS,
      updateAge: 7 * DAY_SECONDS,
      // By default, people could see their sessions and add passkeys only for a day after each sign-in.
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    socialProviders: {
      ...(github && { github: toProvider(github) }),
      ...(google && { google: toProvider(google) }),
    },
    // A different e-mail address is allowed, because only a signed-in person can link an external account to their own.
    account: { accountLinking: { enabled: true, trustedProviders: [], allowDifferentEmails: true } },
    plugins: [
      accessLink(isLinkAllowed),
      invitation(invites),
      memberLink(createMemberLink),
      firstPassword(),
      passkey({ rpID: new URL(origin).hostname, rpName: "Board", origin }),
      ...(sendMail ? [signInByMail(sendMail, origin, attempts), emailLink(sendMail, origin, attempts)] : []),
      ...oauthPlugins(settings, db, currentContext, connections),
      connection(db, connections),
      sessionToken(),
    ],
    rateLimit: {
      enabled: true,
      storage: "database",
      window: 60,
      max: 200,
      customRules: Object.fromEntries(GUARDED.map((path) => [path, ATTEMPTS])),
    },
    advanced: {
      cookiePrefix: "board",
      // This option is set, because its default in the library depends on NODE_ENV.
      disableOriginCheck: false,
      useSecureCookies: origin.startsWith("https:"),
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax" },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: { generateId: () => crypto.randomUUID() },
    },
    hooks: { before: checkPassword(attempts), after: noteResult(attempts, audit) },
    databaseHooks: {
      user: { create: { before: requireInvite }, update: { after: endUnprovenPasskeys } },
      session: {
        create: { after: async ({ userId }) => audit(userId, "sign_in.succeeded") },
        delete: { after: async ({ userId, expiresAt }) => (expiresAt > new Date() ? audit(userId, "sign_in.ended") : undefined) },
      },
    },
    // The service itself logs and answers failures, because the library's error page would show text from the request's URL.
    onAPIError: { throw: true, errorURL: `${origin}/` },
    logger: { disabled: true },
  });
}

/**
 * Throws if a request other than accepting an invite would create an account, which the library does for some ways to sign in. The
 * first owner is created outside of any request.
 */
async function requireInvite(_user: unknown, ctx: GenericEndpointContext | null): Promise<void> {
  if (ctx && ctx.path !== "/sign-up/invite") throw new APIError("FORBIDDEN", { message: "An account needs an invite." });
}

/**
 * Removes passkeys when a mail first proves the account's e-mail address, because somebody else may have entered that address. The
 * library itself removes only the account's passwords and sessions.
 */
async function endUnprovenPasskeys({ id }: { id: string }, ctx: GenericEndpointContext | null): Promise<void> {
  if (ctx?.path !== "/magic-link/verify") return;
  await ctx.context.adapter.deleteMany({ model: "passkey", where: [{ field: "userId", value: id }] });
}

const toProvider = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
  clientId: client_id,
  clientSecret: client_secret,
  disableSignUp: true,
  // Without this option, a sign-in with an id token would create an account.
  disableIdTokenSignIn: true,
});

/** Returns the origins of the service. On this machine it can be reached as localhost and as 127.0.0.1. */
function ownOrigins(origin: string): string[] {
  const { hostname, port, protocol } = new URL(origin);
  if (!["127.0.0.1", "localhost", "[::1]", "0.0.0.0"].includes(hostname)) return [origin];
  return ["127.0.0.1", "localhost"].map((name) => `${protocol}//${name}${port ? `:${port}` : ""}`);
}

const emailOf = (body: unknown): string | null => {
  const email = (body as { email?: unknown } | undefined)?.email;
  return typeof email === "string" ? email.trim().toLowerCase() : null;
};

/** Refuses common passwords wherever a password is set, and counts the attempts to sign in with a password. */
const checkPassword = (attempts: Attempts) =>
  createAuthMiddleware(async (ctx) => {
    const { newPassword } = (ctx.body ?? {}) as { newPassword?: unknown };
    if (typeof newPassword === "string") requireUncommonPassword(newPassword);
    const email = ctx.path === PASSWORD_PATH ? emailOf(ctx.body) : null;
    if (email === null) return;
    await asApiCall(attempts.count(email));
  });

/** Records the result of a request in the audit log. A failed sign-in is recorded only if the account exists. */
const noteResult = (attempts: Attempts, audit: AuditAccount) =>
  createAuthMiddleware(async (ctx) => {
    await auditChange(ctx, ctx.context.returned, audit);
    const failed = ctx.context.returned instanceof APIError;
    const account_id = failed && ctx.path === PASSKEY_PATH ? await findPasskeyOwner(ctx, ctx.body) : null;
    if (account_id !== null) await audit(account_id, "sign_in.failed");
    const email = ctx.path === PASSWORD_PATH ? emailOf(ctx.body) : null;
    if (email === null) return;
    if (!failed) return attempts.forget(email);
    const found = await ctx.context.internalAdapter.findUserByEmail(email);
    if (found) await audit(found.user.id, "sign_in.failed");
  });

/** Returns the account of the passkey in a request to sign in; null if there is none. */
async function findPasskeyOwner({ context }: Pick<GenericEndpointContext, "context">, body: unknown): Promise<string | null> {
  const { response } = (body ?? {}) as { response?: { id?: unknown } };
  if (typeof response?.id !== "string") return null;
  const where = [{ field: "credentialID", value: response.id }];
  return (await context.adapter.findOne<{ userId: string }>({ model: "passkey", where }))?.userId ?? null;
}

/** Signs people in by a mailed link. Only existing accounts get such a mail. */
const signInByMail = (sendMail: SendMail, origin: string, attempts: Attempts) =>
  magicLink({
    disableSignUp: true,
    storeToken: "hashed",
    async sendMagicLink({ email, token }, ctx) {
      await asApiCall(attempts.countMail(email));
      const found = await ctx?.context.internalAdapter.findUserByEmail(email);
      const text = `This link signs you in once, within five minutes:\n\n${toMailLink(origin, token)}\n`;
      if (found) await sendMail(found.user.id, { to: email, subject: "Sign in to Board", text });
    },
  });
