import { createHash, timingSafeEqual } from "node:crypto";
import { recordAudit } from "@board/core/audit/record";
import { type AccountsAuth, type Settings, SettingsError } from "@board/core/config/settings";
import type { Context } from "@board/core/context/context";
import { countRequest, decrementCounter } from "@board/core/db/rate-limit";
import { acceptInvite } from "@board/core/organization/accept-invite";
import { findOpenInvite } from "@board/core/organization/invite";
import { type Identity, LOCAL_IDENTITY } from "@board/core/organization/identity";
import { readIdentityForLink } from "@board/core/organization/member-identity";
import { notFound } from "@board/core/values/errors";
import { resolveUser } from "@board/core/organization/user";
import { addMs, DAY_MS } from "@board/core/values/time";
import { and, eq, type SQL } from "drizzle-orm";
import { ADDRESS_HEADER, createAuth } from "./auth.ts";
import { LINK_HOURS, mintLinkToken, toIdentifier } from "./link.ts";
import * as tables from "./tables.sql.ts";

type AccountsSettings = Settings & { auth: AccountsAuth };

/** A session's cookie is passed to the verifier behind this word. No bearer token has a blank. */
const COOKIE_PREFIX = "cookie ";

interface Account {
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
  issuer: string;
  subject: string;
}

/** The person of an account. An address counts only when it is verified. */
const toIdentity = ({ issuer, subject, email, emailVerified, name }: Account): Identity => ({
  issuer,
  subject,
  name,
  email: emailVerified ? email.toLowerCase() : null,
  email_unverified: !emailVerified,
});

/** The accounts of people in this service. `createContext` opens a context for work outside of a request. */
export function openAccounts(settings: Settings, createContext: () => Context) {
  requireAccountsMode(settings);
  const { db, mail } = createContext();
  const resolve = async (account: Account) => {
    const ctx = createContext();
    return { ...ctx, actor: await resolveUser(ctx, toIdentity(account)) };
  };
  const auth = createAuth({
    settings,
    db,
    mail: mail ?? null,
    invites: {
      findEmail: async (token) => (await findOpenInvite(createContext(), token))?.invited_email ?? null,
      accept: async (token, user) => void (await acceptInvite(await resolve(user as unknown as Account), { token })),
    },
    attempts: {
      count: (email) => countRequest(createContext(), "auth_failures_per_minute", ATTEMPTS, toKey(email)),
      forget: (email) => decrementCounter(createContext(), ATTEMPTS, toKey(email)),
    },
    async createMemberLink(account_id, member_id) {
      const ctx = await resolve((await findAccount(eq(tables.user.id, account_id)))!);
      const { active } = ctx.actor;
      if (!active) throw notFound();
      const { issuer, subject } = await readIdentityForLink({ ...ctx, actor: { ...ctx.actor, active } }, member_id);
      const account = await findAccount(and(eq(tables.user.issuer, issuer), eq(tables.user.subject, subject))!);
      if (!account) throw notFound();
      return createLink(account.id);
    },
    async onSignIn({ id }, { succeeded }) {
      const account = await findAccount(eq(tables.user.id, id));
      if (!account) return;
      const ctx = await resolve(account);
      const { active } = ctx.actor;
      if (!active) return;
      const target = { id: ctx.actor.user_id, name: account.name };
      const entry = { organization_id: active.organization_id, target };
      await recordAudit(ctx, succeeded ? "sign_in.succeeded" : "sign_in.failed", entry);
    },
  });

  async function findAccount(condition: SQL): Promise<Account | null> {
    const [row] = await db.select().from(tables.user).where(condition);
    return row ?? null;
  }

  const isOwner = and(eq(tables.user.issuer, LOCAL_IDENTITY.issuer), eq(tables.user.subject, LOCAL_IDENTITY.subject))!;

  /** The account of the first owner, which is the shared user of local mode. It has no way in before it gets one. */
  async function ensureOwner(): Promise<Account> {
    const { internalAdapter } = await auth.$context;
    const existing = await findAccount(isOwner);
    if (existing) return existing;
    const { issuer, subject } = LOCAL_IDENTITY;
    const email = `owner-${crypto.randomUUID()}@${UNKNOWN_DOMAIN}`;
    const owner = { name: "Owner", email, emailVerified: false, issuer, subject };
    await internalAdapter.createUser(owner, { method: "admin" }).catch((error: unknown) => {
      // Another process has created it at the same time.
      if (!/unique|duplicate/i.test(String((error as Error).cause ?? error))) throw error;
    });
    return (await findAccount(isOwner))!;
  }

  /** Makes a link that signs in as this account once. */
  async function createLink(account_id: string): Promise<string> {
    const { internalAdapter } = await auth.$context;
    const token = mintLinkToken();
    const expiresAt = addMs(createContext().now(), (LINK_HOURS / 24) * DAY_MS);
    await internalAdapter.createVerificationValue({ identifier: toIdentifier(token), value: account_id, expiresAt });
    return token;
  }

  const { owner_token } = settings.auth;
  const isOwnerToken = (token: string) => owner_token !== null && timingSafeEqual(digest(token), digest(owner_token));

  return {
    /** Answers a request below `AUTH_PATH`. */
    handle(request: Request, address: string): Promise<Response> {
      const headers = new Headers(request.headers);
      headers.set(ADDRESS_HEADER, address);
      return auth.handler(new Request(request, { headers }));
    },
    /** The person of a session's cookie, or the owner by the key of the data folder. */
    async verify(token: string): Promise<{ identity: Identity; expires_at: Date | null } | null> {
      if (!token.startsWith(COOKIE_PREFIX))
        return isOwnerToken(token) ? { identity: toIdentity(await ensureOwner()), expires_at: null } : null;
      const headers = new Headers({ cookie: token.slice(COOKIE_PREFIX.length) });
      const found = await auth.api.getSession({ headers });
      if (!found) return null;
      return { identity: toIdentity(found.user as unknown as Account), expires_at: found.session.expiresAt };
    },
    ensureOwner,
    createLink,
    async createOwnerLink(): Promise<string> {
      return createLink((await ensureOwner()).id);
    },
    /** The link of the first visit; null once the owner has another way in. */
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

/** Nobody can have an address in this domain (RFC 2606). */
const UNKNOWN_DOMAIN = "accounts.invalid";

/** The scope of the counters of attempts, and the account in them. */
const ATTEMPTS = "sign-in";
const toKey = (email: string) => digest(email).toString("base64url");

const digest = (token: string) => createHash("sha256").update(token).digest();
