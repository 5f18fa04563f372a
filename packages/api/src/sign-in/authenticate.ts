import type { Actor, Agent, Role, User } from "@board/core/context/actor";
import { adoptImportedToken, findAgentByToken, recheckAgentToken } from "@board/core/agent/authenticate";
import { memoPerApp } from "@board/core/context/app-memo";
import { as, type Context } from "@board/core/context/context";
import { findUserByKey, findUserByKeyId, recheckKey } from "@board/core/key/authenticate";
import { isKey, shownPrefix } from "@board/core/key/token";
import { DomainError, identityProviderUnavailable, notFound, unauthenticated } from "@board/core/values/errors";
import { findMembership, recheckUsers, resolveUser } from "@board/core/organization/user";
import { ensureActiveOrganization } from "@board/core/organization/active-organization";
import { parseEventId } from "@board/core/stream/cursor";
import { countRequest, decrementCounter, startOfMinute, toCounterKey } from "@board/core/db/rate-limit";
import { sessionCookie } from "./session-cookie.ts";
import { isConnection, type UserVerifier, type VerifiedIdentity } from "./verified-identity.ts";

/** What the request needs. `resource` is the request's address if a token must be issued for this address, else null. */
interface Access {
  role: Role;
  resource: string | null;
}

/**
 * Identifies the caller by the headers, using only the credentials that the role accepts. Only an invalid credential counts against
 * the client's address. A missing credential, or one that cannot be checked now, does not.
 */
export async function authenticate(
  ctx: Context,
  { role, resource }: Access,
  headers: Headers,
  address: string,
  verifyUser: UserVerifier,
): Promise<Actor> {
  if (!role.users && !role.agents) return ctx.actor;
  const { agentToken, bearer } = readCredentials(ctx, role, headers);
  if (agentToken) return (await authenticateAgent(ctx, agentToken, address)) ?? rejectCredential(ctx, agentToken);
  if (!bearer) throw unauthenticated();
  if (isKey(bearer)) return (role.users && (await findUserByKey(ctx, bearer))) || rejectKey(ctx, bearer, address);
  const user = role.users ? await authenticateUser(ctx, { role, resource }, bearer, verifyUser) : null;
  if (user === "unchecked") {
    const agent = role.agents ? await findAgentByToken(ctx, bearer) : null;
    if (!agent) throw identityProviderUnavailable();
    return agent;
  }
  if (user) return user;
  const agent = role.agents ? await authenticateAgent(ctx, bearer, address) : null;
  if (agent) return agent;
  if (!role.agents) await countFailure(ctx, address);
  return rejectCredential(ctx, role.agents ? bearer : null);
}

/** Returns the organization that a stream of this caller belongs to, or null if the role does not need an organization. */
export function organizationOf(role: Role, actor: Actor): string | null {
  if (!role.organization) return null;
  return actor.type === "agent" ? actor.organization_id : actor.type === "user" ? (actor.active?.organization_id ?? null) : null;
}

/** Returns the actor of a resumed stream. It keeps the organization in Last-Event-ID, even if a different one is active now. */
export async function resumeOrganization(ctx: Context, role: Role, headers: Headers): Promise<Actor> {
  const { actor } = ctx;
  const organization_id = parseEventId(headers.get("last-event-id") ?? "")?.organization_id ?? null;
  if (organization_id === null || actor.type !== "user" || !role.organization) return actor;
  if (actor.active?.organization_id === organization_id) return actor;
  const active = await findMembership(ctx, actor.user_id, organization_id);
  if (!active) throw notFound();
  return { ...actor, active };
}

/**
 * Returns the context of a request whose body arrived long after its headers, with the agent or the membership as it is now. The
 * caller may have lost the role in the meantime. A person's rights to a board need no such check, because `boardFor` reads them.
 */
export async function withCurrentRole(ctx: Context, role: Role, headers: Headers): Promise<Context> {
  const { actor } = ctx;
  if (actor.type === "agent") {
    const agent = await findAgentByToken(ctx, credentialOf(ctx, role, headers)!);
    if (!agent) throw unauthenticated();
    return as({ ...ctx, actor: agent }, role);
  }
  if (actor.type !== "user" || !role.organization || !actor.active) return ctx;
  const active = await findMembership(ctx, actor.user_id, actor.active.organization_id);
  return as({ ...ctx, actor: { ...actor, active } }, role);
}

/** The request of an open stream. It also stores the result of the last check of its token's signature. */
export interface StreamRequest {
  readonly headers: Headers;
  /** The organization to which the stream belongs; see `organizationOf`. */
  readonly organization_id: string | null;
  verified?: VerifiedIdentity & { recheck_at: Date };
}

/**
 * Checks the credentials of open streams again. The result is null for credentials that are no longer valid. Nothing is written,
 * and failures are not counted. All users are looked up in one query.
 */
export async function reauthenticate(
  ctx: Context,
  role: Role,
  requests: readonly StreamRequest[],
  verifyUser: UserVerifier,
): Promise<(Actor | null)[]> {
  const sent = requests.map(({ headers }) => readCredentials(ctx, role, headers));
  const identities = await Promise.all(
    sent.map(async ({ agentToken, bearer }, index) => {
      const wantsUser = role.users && !agentToken && bearer && !isKey(bearer);
      return wantsUser ? ((await reverifyUser(ctx, requests[index]!, bearer, verifyUser))?.identity ?? null) : null;
    }),
  );
  const sessions = requests.flatMap(({ organization_id }, index) => {
    const identity = identities[index];
    return identity ? [{ identity, organization_id }] : [];
  });
  const users = (await recheckUsers(ctx, sessions)).values();
  const actors: (Actor | null)[] = [];
  for (const [index, { agentToken, bearer }] of sent.entries()) {
    const user = identities[index] ? users.next().value : null;
    actors.push(user ?? (await recheckToken(ctx, role, agentToken, bearer)));
  }
  return actors;
}

async function recheckToken(ctx: Context, role: Role, agentToken?: string, bearer?: string): Promise<Actor | null> {
  if (!agentToken && bearer && isKey(bearer)) return role.users ? recheckKey(ctx, bearer) : null;
  const token = agentToken || bearer;
  return role.agents && token ? recheckAgentToken(ctx, token) : null;
}

/** Checking a thousand signatures takes 0.2 s, and a valid signature stays valid until the issuer replaces its keys. */
const SIGNATURE_RECHECK_MS = 60_000;

/** Checks the expiry of a token every time, but its signature only every 30 to 60 seconds. */
async function reverifyUser(
  ctx: Context,
  request: StreamRequest,
  bearer: string,
  verifyUser: UserVerifier,
): Promise<VerifiedIdentity | null> {
  const now = ctx.now();
  const { verified } = request;
  const signedIn = verified && now < verified.recheck_at ? "unchecked" : await verifyUser(bearer);
  if (signedIn === "unchecked") {
    // While the issuer's keys cannot be read, the last check still counts. Without an earlier check, this poll fails, and the next
    // poll tries again.
    if (!verified) throw identityProviderUnavailable();
    return verified.expires_at && verified.expires_at <= now ? null : verified;
  }
  // Tokens of connected programs are accepted at one address only, and there are no streams at that address.
  if (signedIn && isConnection(signedIn)) return null;
  if (signedIn) {
    // A random interval distributes the checks of streams that were opened at the same time.
    const recheck_at = new Date(now.getTime() + SIGNATURE_RECHECK_MS * (0.5 + Math.random() / 2));
    request.verified = { ...signedIn, recheck_at };
  }
  return signedIn;
}

/** Returns the credential that `authenticate` uses, or null if the caller sent none that the role accepts. */
export function credentialOf(ctx: Context, role: Role, headers: Headers): string | null {
  if (!role.users && !role.agents) return null;
  const { agentToken, bearer } = readCredentials(ctx, role, headers);
  return agentToken || bearer || null;
}

/** Reads the credentials that the role accepts. A blank or malformed header is treated as missing. */
function readCredentials(
  { settings }: Context,
  role: Role,
  headers: Headers,
): { agentToken: string | undefined; bearer: string | undefined } {
  const authorization = headers.get("authorization")?.trim() ?? "";
  const takesCookie = settings.auth.mode === "accounts" && role.users && authorization === "";
  return {
    agentToken: role.agents ? headers.get("x-agent-token")?.trim() : undefined,
    bearer: takesCookie ? sessionCookie(headers) : /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1],
  };
}

async function authenticateUser(
  ctx: Context,
  { role, resource }: Access,
  token: string,
  verifyUser: UserVerifier,
): Promise<User | "unchecked" | null> {
  const signedIn = await verifyUser(token);
  if (signedIn === "unchecked" || !signedIn) return signedIn;
  if (isConnection(signedIn)) return signedIn.resource === resource ? findUserByKeyId(ctx, signedIn.key_id) : null;
  if (resource !== null) requireAudienceSetting(ctx);
  const user = await resolveUser(ctx, signedIn.identity);
  if (!role.organization || user.active) return user;
  return { ...user, active: await ensureActiveOrganization({ ...ctx, actor: user }) };
}

/**
 * Throws unless the settings restrict the audience of tokens: any program can ask for a token for this resource, so tokens must be
 * issued for this service.
 */
function requireAudienceSetting({ settings: { auth } }: Context): void {
  if (auth.mode !== "oidc" || auth.audience !== null) return;
  throw new DomainError(
    "unauthenticated",
    "Tokens of people are not accepted here, because OIDC_AUDIENCE is not set: the token may be for another service.",
  );
}

async function authenticateAgent(ctx: Context, token: string, address: string): Promise<Agent | null> {
  const agent = await findAgentByToken(ctx, token);
  if (agent) return agent;
  // The failure is counted before the imported hashes are tried, so that a caller above the limit cannot make the service compute
  // slow hashes.
  await countFailure(ctx, address);
  await adoptImportedToken(ctx, token);
  // The token is looked up again even if no hash matched, because a concurrent request may have adopted it.
  const adopted = await findAgentByToken(ctx, token);
  if (adopted) await decrementCounter(ctx, "auth", toCounterKey(address));
  return adopted;
}

async function rejectKey(ctx: Context, key: string, address: string): Promise<never> {
  await countFailure(ctx, address);
  return rejectCredential(ctx, shownPrefix(key));
}

async function countFailure(ctx: Context, address: string): Promise<void> {
  try {
    await countRequest(ctx, "auth_failures_per_minute", "auth", toCounterKey(address));
  } catch (error) {
    if (error instanceof DomainError) {
      ctx.meter.record("AuthFailures", 1);
      noteSuspect(ctx, address);
    }
    throw error;
  }
}

/** The addresses that exceeded the limit of failures in this clock minute, as far as this process knows. */
const suspectsOf = memoPerApp(() => ({ minute: 0, addresses: new Set<string>() }));

function noteSuspect(ctx: Context, address: string): void {
  const suspects = suspectsOf(ctx);
  const minute = startOfMinute(ctx.now()).getTime();
  if (suspects.minute !== minute) Object.assign(suspects, { minute, addresses: new Set() });
  suspects.addresses.add(toCounterKey(address));
}

/** Returns whether an address seems to be guessing credentials. Such an address may only try a few at a time. */
export function isSuspect(ctx: Context, address: string): boolean {
  const { minute, addresses } = suspectsOf(ctx);
  return addresses.size > 0 && minute === startOfMinute(ctx.now()).getTime() && addresses.has(toCounterKey(address));
}

const TOKEN_PREFIX_CHARS = 6;

/** Logs the beginning of a program's token, but nothing of a token that may belong to a person. */
function rejectCredential(ctx: Context, agentToken: string | null): never {
  ctx.meter.record("AuthFailures", 1);
  ctx.log.warn(
    "auth.failed",
    "The credential is not valid",
    agentToken ? { token_prefix: agentToken.slice(0, TOKEN_PREFIX_CHARS) } : {},
  );
  throw unauthenticated();
}
