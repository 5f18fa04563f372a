import { createHash, timingSafeEqual } from "node:crypto";
import type { Actor, Agent, Role, User } from "@board/core/actor";
import { adoptImportedToken, findAgentByToken, recheckAgentToken } from "@board/core/agent/authenticate";
import type { Context } from "@board/core/context";
import { unauthenticated } from "@board/core/errors";
import {
  ensureActiveOrganization,
  type Identity,
  LOCAL_IDENTITY,
  recheckUsers,
  resolveUser,
} from "@board/core/organization/user";
import { countDown, countUp, tooMany } from "@board/core/rate";
import type { Settings } from "@board/core/settings";

/** Who an access token belongs to, and when it ends; null for never. */
interface SignedIn {
  identity: Identity;
  until: Date | null;
}

/** Tells who an access token belongs to; null for nobody. */
export type VerifyUser = (token: string) => Promise<SignedIn | null>;

/** The way people sign in, by the settings. The OIDC code is loaded only where it is used. */
export function userVerifier(settings: Settings, log: Context["log"]): VerifyUser {
  const { auth } = settings;
  if (auth.mode === "local") {
    const expected = digest(auth.token);
    return async (token) => (timingSafeEqual(digest(token), expected) ? { identity: LOCAL_IDENTITY, until: null } : null);
  }
  let oidc: Promise<VerifyUser> | undefined;
  return async (token) => {
    oidc ??= import("./oidc.ts").then(({ oidcVerifier }) => oidcVerifier(auth, log));
    return (await oidc)(token);
  };
}

/** Digests have one length, so that a comparison tells nothing about that of the secret. */
const digest = (token: string) => createHash("sha256").update(token).digest();

/**
 * Finds out who calls, looking only at the credentials that the role accepts. A failing credential counts against the
 * client's address; a missing one and a good one do not. Reads headers only.
 */
export async function authenticate(
  ctx: Context,
  role: Role,
  headers: Headers,
  address: string,
  verifyUser: VerifyUser,
): Promise<Actor> {
  if (!role.users && !role.agents) return ctx.actor;
  const { agentToken, bearer } = credentials(role, headers);
  if (agentToken) return (await asAgent(ctx, agentToken, address)) ?? refuse(ctx, agentToken);
  if (!bearer) throw unauthenticated();
  const user = role.users ? await asUser(ctx, role, bearer, verifyUser) : null;
  if (user) return user;
  const agent = role.agents ? await asAgent(ctx, bearer, address) : null;
  if (agent) return agent;
  if (!role.agents) await countFailure(ctx, address);
  return refuse(ctx, role.agents ? bearer : null);
}

/** The request of an open stream, with what its token said when its signature was last checked. */
export interface OpenRequest {
  readonly headers: Headers;
  checked?: SignedIn & { again: Date };
}

/**
 * Asks again whether the credentials of open streams are good: null for one that is not. Nothing is written, and a failure
 * counts against nobody. People are looked up together.
 */
export async function reauthenticate(
  ctx: Context,
  role: Role,
  requests: readonly OpenRequest[],
  verifyUser: VerifyUser,
): Promise<(Actor | null)[]> {
  const sent = requests.map(({ headers }) => credentials(role, headers));
  const subjects = await Promise.all(
    sent.map(async ({ agentToken, bearer }, index) => {
      const asksUser = role.users && !agentToken && bearer;
      return asksUser ? ((await verifyAgain(ctx, requests[index]!, bearer, verifyUser))?.identity.subject ?? null) : null;
    }),
  );
  const users = await recheckUsers(
    ctx,
    subjects.filter((subject) => subject !== null),
  );
  const actors: (Actor | null)[] = [];
  for (const [index, { agentToken, bearer }] of sent.entries()) {
    const user = users.get(subjects[index] ?? "");
    const token = agentToken || bearer;
    actors.push(user ?? (role.agents && token ? await recheckAgentToken(ctx, token) : null));
  }
  return actors;
}

/** Signatures are dear: a thousand of them are a fifth of a second. One that was good stays so while the issuer's keys do. */
const SIGNATURE_MS = 60_000;

/** The time of a token is held against the clock always, its signature after half a minute to a minute. */
async function verifyAgain(ctx: Context, request: OpenRequest, bearer: string, verifyUser: VerifyUser): Promise<SignedIn | null> {
  const now = ctx.now();
  const { checked } = request;
  if (checked && now < checked.again) return checked.until && checked.until <= now ? null : checked;
  const signedIn = await verifyUser(bearer);
  if (signedIn) {
    // Streams that were opened together are not checked together.
    const again = new Date(now.getTime() + SIGNATURE_MS * (0.5 + Math.random() / 2));
    request.checked = { ...signedIn, again };
  }
  return signedIn;
}

/** What the role looks at; blank or ill-formed is as good as nothing. */
function credentials(role: Role, headers: Headers): { agentToken: string | undefined; bearer: string | undefined } {
  return {
    agentToken: role.agents ? headers.get("x-agent-token")?.trim() : undefined,
    bearer: /^bearer\s+(\S+)\s*$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1],
  };
}

async function asUser(ctx: Context, role: Role, token: string, verifyUser: VerifyUser): Promise<User | null> {
  const signedIn = await verifyUser(token);
  if (!signedIn) return null;
  const user = await resolveUser(ctx, signedIn.identity);
  if (!role.organization || user.active) return user;
  return { ...user, active: await ensureActiveOrganization({ ...ctx, actor: user }) };
}

async function asAgent(ctx: Context, token: string, address: string): Promise<Agent | null> {
  const found = await findAgentByToken(ctx, token);
  if (found) return found;
  // Counted before the imported rows are tried: whoever is over the limit cannot make us derive keys.
  await countFailure(ctx, address);
  await adoptImportedToken(ctx, token);
  // Asked again even if nothing matched: another request may have adopted the row in the meantime.
  const adopted = await findAgentByToken(ctx, token);
  if (adopted) await countDown(ctx, "auth", address);
  return adopted;
}

async function countFailure(ctx: Context, address: string): Promise<void> {
  const limit = ctx.settings.auth_failures_per_minute;
  if (limit === 0 || (await countUp(ctx, "auth", address)) <= limit) return;
  ctx.meter.record("AuthFailures", 1);
  throw tooMany(ctx);
}

const SHOWN_CHARS = 6;

/** Agent tokens show where they begin; of what may be a person's token nothing is shown. */
function refuse(ctx: Context, agentToken: string | null): never {
  ctx.meter.record("AuthFailures", 1);
  ctx.log.warn("auth.failed", "A credential was refused", agentToken ? { token_prefix: agentToken.slice(0, SHOWN_CHARS) } : {});
  throw unauthenticated();
}
