import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, timingSafeEqual } from "node:crypto";
import { recordAudit } from "@board/core/audit/record";
import { type AccountsAuth, type Settings, SettingsError } from "@board/core/config/settings";
import type { Context } from "@board/core/context/context";
import { countMailTo } from "@board/core/db/mail-limit";
import { countRequest, decrementCounter } from "@board/core/db/rate-limit";
import { createConnectedKey } from "@board/core/key/change";
import { withActiveOrganization } from "@board/core/organization/active-organization";
import { acceptInvite } from "@board/core/organization/accept-invite";
import { findOpenInvite } from "@board/core/organization/invite";
import { type Identity, LOCAL_IDENTITY } from "@board/core/organization/identity";
import { readIdentityForLink, recordOwnerLink, requireLinkAllowed } from "@board/core/organization/member-identity";
import { sendAccountMail } from "@board/core/mail/account-mail";
import { DomainError, notFound } from "@board/core/values/errors";
import { resolveUser } from "@board/core/organization/user";
import { addMs, DAY_MS } from "@board/core/values/time";
import { and, arrayOverlaps, eq, gt, isNull, or, type SQL } from "drizzle-orm";
import { toRefusal } from "./api-error.ts";
import { type AccountsOptions, ADDRESS_HEADER, createAuth } from "./auth.ts";
import { isDuplicate } from "./duplicate.ts";
import { LINK_HOURS, mintLinkToken, type StoredLink, toIdentifier, toLinkValue } from "./link.ts";
import { answerMailLink, MAIL_LINK_PATH } from "./mail-link.ts";
import { ACCESS_PREFIX, mcpResources, toStored } from "./oauth.ts";
import { oauthAccessToken } from "./oauth-tables.sql.ts";
import { createRowRemover } from "./old-rows.ts";
import { createOpener } from "./opened-auth.ts";
import { isServed } from "./served-paths.ts";
import { SESSION_PREFIX } from "./session-token.ts";
import * as tables from "./tables.sql.ts";
import { removeUnfinishedAccount } from "./unfinished-account.ts";
import { createUnknownAddress } from "./unknown-address.ts";

type AccountsSettings = Settings & { auth: AccountsAuth };

/** Precedes the session's cookie, so that the verifier can distinguish it from a bearer token, which never contains a space. */
const COOKIE_PREFIX = "cookie ";

interface Account {
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
  issuer: string;
  subject: string;
}

/** Returns the person who owns an account. An e-mail address counts only if it is verified. */
const toIdentity = ({ issuer, subject, email, emailVerified, name }: Account): Identity => ({
  issuer,
  subject,
  name,
  email: emailVerified ? email.toLowerCase() : null,
  email_unverified: !emailVerified,
});

/** Opens the accounts of people in this service. `openContext` creates a context for work outside of a request. */
export function openAccounts(settings: Settings, openContext: () => Context) {
  requireAccountsMode(settings);
  const { db, mail } = openContext();
  // The library does not pass its callbacks the context of the request, which the audit log and jobs need.
  const requests = new AsyncLocalStorage<Context>();
  const createContext = (): Context => requests.getStore() ?? openContext();
  const resolve = async (account: Account) => {
    const ctx = createContext();
    return { ...ctx, actor: await resolveUser(ctx, toIdentity(account)) };
  };
  const options: AccountsOptions = {
    settings,
    db,
    currentContext: createContext,
    sendMail: mail
      ? async (account_id, letter) => {
          const ctx = await withActiveOrganization(await resolve((await findAccount(eq(tables.user.id, account_id)))!));
          await sendAccountMail(ctx, ctx.actor.active.organization_id, letter);
        }
      : null,
    invites: {
      findEmail: async (token) => (await findOpenInvite(createContext(), token))?.invited_email ?? null,
      removeUnfinished: (email) => removeUnfinishedAccount(createContext(), email),
      accept: async (token, user) => void (await acceptInvite(await resolve(user as unknown as Account), { token })),
    },
    attempts: {
      count: (email) => countRequest(createContext(), "auth_failures_per_minute", ATTEMPTS, toKey(email)),
      forget: (email) => decrementCounter(createContext(), ATTEMPTS, toKey(email)),
      countMail: (email) => countMailTo(createContext(), email),
    },
    connections: {
      async create(account_id, connection) {
        const ctx = await withActiveOrganization(await resolve((await findAccount(eq(tables.user.id, account_id)))!));
        return createConnectedKey(ctx, connection, ACCESS_PREFIX);
      },
    },
    async createMemberLink(account_id, member_id) {
      const ctx = await resolve((await findAccount(eq(tables.user.id, account_id)))!);
      const { active } = ctx.actor;
      if (!active) throw notFound();
      const { issuer, subject } = await readIdentityForLink({ ...ctx, actor: { ...ctx.actor, active } }, member_id);
      const account = await findAccount(and(eq(tables.user.issuer, issuer), eq(tables.user.subject, subject))!);
      if (!account) throw notFound();
      const made_for = { organization_id: active.organization_id, member_id, maker_user_id: ctx.actor.user_id };
      return createLink(account.id, made_for);
    },
    async isLinkAllowed({ made_for }) {
      try {
        if (made_for) await requireLinkAllowed(createContext(), made_for);
        return true;
      } catch (error) {
        if (error instanceof DomainError) return false;
        throw error;
      }
    },
    async audit(id, action, after = null) {
      const account = await findAccount(eq(tables.user.id, id));
      if (!account) return;
      const ctx = await resolve(account);
      const { active } = ctx.actor;
      if (!active) return;
      const target = { id: ctx.actor.user_id, name: account.name };
      await recordAudit(ctx, action, { organization_id: active.organization_id, target, after });
    },
  };
  const openAuth = createOpener(() => createAuth(options));

  async function findAccount(condition: SQL): Promise<Account | null> {
    const [row] = await db.select().from(tables.user).where(condition);
    return row ?? null;
  }

  const isOwner = and(eq(tables.user.issuer, LOCAL_IDENTITY.issuer), eq(tables.user.subject, LOCAL_IDENTITY.subject))!;

  /**
   * Returns the account of the first owner, and creates it if needed. The account belongs to the user of local mode. Nobody can
   * sign in to the account before its link was used.
   */
  async function ensureOwner(): Promise<Account> {
    const { internalAdapter } = await (await openAuth()).$context;
    const existing = await findAccount(isOwner);
    if (existing) return existing;
    const { issuer, subject } = LOCAL_IDENTITY;
    const email = createUnknownAddress();
    const owner = { name: "Owner", email, emailVerified: false, issuer, subject };
    await internalAdapter.createUser(owner, { method: "admin" }).catch((error: unknown) => {
      // Another process has created the account at the same time.
      if (!isDuplicate(error)) throw error;
    });
    return (await findAccount(isOwner))!;
  }

  /** Creates a link with which somebody can sign in to this account once. */
  async function createLink(account_id: string, made_for: StoredLink["made_for"] = null): Promise<string> {
    const { internalAdapter } = await (await openAuth()).$context;
    const token = mintLinkToken();
    const expiresAt = addMs(createContext().now(), (LINK_HOURS / 24) * DAY_MS);
    await internalAdapter.createVerificationValue({
      identifier: toIdentifier(token),
      value: toLinkValue({ account_id, made_for }),
      expiresAt,
    });
    return token;
  }

  const { owner_token } = settings.auth;
  const isOwnerToken = (token: string) => owner_token !== null && timingSafeEqual(digest(token), digest(owner_token));

  /**
   * Returns the person to whom a session belongs. Only a program's session token is renewed here, because this answer could not
   * carry a renewed cookie.
   */
  async function findSession(cookie: string, disableRefresh: boolean) {
    const found = await (await openAuth()).api.getSession({ headers: new Headers({ cookie }), query: { disableRefresh } });
    return found && { identity: toIdentity(found.user as unknown as Account), expires_at: found.session.expiresAt };
  }

  const toCookie = async (token: string): Promise<string> =>
    `${(await (await openAuth()).$context).authCookies.sessionToken.name}=${token.slice(SESSION_PREFIX.length)}`;

  /**
   * Moves the command line's session from its bearer token to a cookie, where the library expects it. The library also checks the
   * Origin header, so that header is set too.
   */
  async function withSession(headers: Headers): Promise<Headers> {
    const [, token] = /^Bearer (\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    if (!token?.startsWith(SESSION_PREFIX)) return headers;
    headers.delete("authorization");
    headers.set("cookie", await toCookie(token));
    headers.set("origin", new URL(settings.service_url).origin);
    return headers;
  }

  /** Returns the API key with which a connected program acts, and the only address that accepts the program's token. */
  async function findConnection(token: string): Promise<{ key_id: string; resource: string } | null> {
    const [resource, ...others] = mcpResources(settings);
    const { referenceId, resources } = oauthAccessToken;
    const [row] = await db
      .select({ key_id: referenceId })
      .from(oauthAccessToken)
      .where(
        and(
          eq(oauthAccessToken.token, toStored(settings, "access_token", token)),
          gt(oauthAccessToken.expiresAt, createContext().now()),
          isNull(oauthAccessToken.revoked),
          // A client that named no resource gets a token for the MCP endpoint, which is the only resource.
          or(isNull(resources), arrayOverlaps(resources, [resource!, ...others])),
        ),
      );
    return row?.key_id ? { key_id: row.key_id, resource: resource! } : null;
  }

  const removeOldRows = createRowRemover(openContext);

  return {
    /** Answers a request below `AUTH_PATH`, or for the metadata of the authorization server. */
    async handle(ctx: Context, request: Request): Promise<Response> {
      const { pathname } = new URL(request.url);
      if (!isServed(pathname)) return Response.json({ message: "Not Found" }, { status: 404 });
      const headers = await withSession(new Headers(request.headers));
      headers.set(ADDRESS_HEADER, ctx.client?.address ?? "");
      const received = new Request(request, { headers });
      const { handler } = await openAuth();
      const answer = await requests.run(ctx, () =>
        pathname === MAIL_LINK_PATH ? answerMailLink(received, handler) : handler(received),
      );
      // Only POST requests add rows, so only they have to remove outdated rows.
      if (request.method === "POST") await removeOldRows();
      return toRefusal(pathname, answer);
    },
    /**
     * Returns who a token stands for: the person of a session, the owner (the key in the data folder), or a connected program.
     * Null if the token is not valid.
     */
    async verify(token: string) {
      if (token.startsWith(COOKIE_PREFIX)) return findSession(token.slice(COOKIE_PREFIX.length), true);
      if (token.startsWith(ACCESS_PREFIX)) return findConnection(token.slice(ACCESS_PREFIX.length));
      if (token.startsWith(SESSION_PREFIX)) return findSession(await toCookie(token), false);
      return isOwnerToken(token) ? { identity: toIdentity(await ensureOwner()), expires_at: null } : null;
    },
    ensureOwner,
    createLink,
    /** Creates a link for the first owner. */
    async createOwnerLink(): Promise<string> {
      const owner = await ensureOwner();
      await recordOwnerLink(createContext(), owner);
      return createLink(owner.id);
    },
    /** Creates a link for the owner with this e-mail address. Returns null if no owner of an organization has it. */
    async createOwnerLinkFor(email: string): Promise<string | null> {
      const account = await findAccount(eq(tables.user.email, email.trim().toLowerCase()));
      return account && (await recordOwnerLink(createContext(), account)) ? createLink(account.id) : null;
    },
    /** Creates the link for the owner's first visit. Returns null once the owner has another way to sign in. */
    async createFirstLink(): Promise<string | null> {
      const { id } = await ensureOwner();
      const [password] = await db
        .select({ id: tables.account.id })
        .from(tables.account)
        .where(eq(tables.account.userId, id))
        .limit(1);
      const [key] = await db.select({ id: tables.passkey.id }).from(tables.passkey).where(eq(tables.passkey.userId, id)).limit(1);
      return password || key ? null : createLink(id);
    },
  };
}

function requireAccountsMode(settings: Settings): asserts settings is AccountsSettings {
  if (settings.auth.mode !== "accounts") throw new SettingsError("Accounts need AUTH_MODE=accounts.");
}

export type Accounts = ReturnType<typeof openAccounts>;

/** The scope of the rate counters. Within it, the counters are keyed by a digest of the e-mail address. */
const ATTEMPTS = "sign-in";
const toKey = (email: string) => digest(email).toString("base64url");

const digest = (token: string) => createHash("sha256").update(token).digest();
