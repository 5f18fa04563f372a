import { and, count, eq, gt, isNull, lte, or } from "drizzle-orm";
import * as z from "zod";
import { type Admin, admin, type Member, member, type Membership, type Role } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { tokenLookup } from "../agent/token.ts";
import { requireBoards } from "../organization/member-access.ts";
import { lockOrganizationAs } from "../organization/lock.ts";
import { createServiceUser } from "../organization/service-user.ts";
import { api_key_tokens, api_keys } from "../schema/key.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { Id, InstantInput, Integer, lazyObject, MAX_IDS, MAX_NAME, NonEmpty } from "../values/wire.ts";
import { KeyAccess, keyCondition, type KeyOwner, type NewKey, readKey } from "./key.ts";
import { mintKey, shownPrefix } from "./token.ts";
import { recordAudit } from "../audit/record.ts";

const DEFAULT_DAYS = 90;
const CONNECTION_DAYS = 365;
const MAX_DAYS = 366;
/** The maximum number of keys of an organization and its members, including expired keys. */
const MAX_KEYS = 1_000;
/**
 * The maximum number of valid tokens of a key. A key may be rotated a few times before all programs have the new token, but not
 * endlessly.
 */
const MAX_TOKENS = 5;

const ExpiresAt = InstantInput.nullable()
  .optional()
  .describe(
    `At most a year ahead, by default ${DEFAULT_DAYS} days. Null for a key that does not end, which only owners can create.`,
  );

export const CreateKey = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("What the key is for, for example the program that uses it."),
  access: KeyAccess.describe("`read` only reads, `write` acts as a member, `admin` as an admin."),
  board_ids: z
    .array(Id)
    .min(1)
    .max(MAX_IDS)
    .nullable()
    .default(null)
    .describe("Boards of the organization that the key is limited to; null for all."),
  expires_at: ExpiresAt,
})).meta({ id: "KeyCreate" });
export type CreateKey = z.infer<typeof CreateKey>;

const MAX_OVERLAP_HOURS = 168;

export const RotateKey = lazyObject(() => ({
  overlap_hours: Integer(0, MAX_OVERLAP_HOURS).default(24).describe("Hours for which the previous key still works."),
  expires_at: InstantInput.nullable()
    .optional()
    .describe("The new end of the key, with the limits of a creation; when omitted, the end stays as it is."),
})).meta({ id: "KeyRotate" });
export type RotateKey = z.infer<typeof RotateKey>;

/** Creates a key that acts for the organization. */
export const createKey = (ctx: Context<Admin>, input: CreateKey): Promise<NewKey> => insertWithToken(ctx, input, admin);

/** Creates a key with the rights of the caller, limited to the access and the boards that the input names. */
export const createOwnKey = (ctx: Context<Member>, input: CreateKey): Promise<NewKey> => insertWithToken(ctx, input, member);

/**
 * Creates a personal key for a program that gets its tokens in another way, and returns the id of the key. `prefix` is the
 * beginning of these tokens.
 */
export function createConnectedKey(ctx: Context<Member>, input: Omit<CreateKey, "expires_at">, prefix: string): Promise<string> {
  const expires_at = addMs(ctx.now(), CONNECTION_DAYS * DAY_MS);
  return insertKey(ctx, { ...input, expires_at }, member, { prefix, key: null });
}

async function insertWithToken(ctx: Context<Member>, input: CreateKey, role: Role<Member>): Promise<NewKey> {
  const key = mintKey();
  return transaction(ctx, async (ctx) => {
    const id = await insertKey(ctx, input, role, { prefix: shownPrefix(key), key });
    return { ...(await readKey(ctx, id, "any")), key };
  });
}

/** Stores a key: of the organization if the caller acts as an admin, or a personal key if the caller acts as a member. */
function insertKey(
  ctx: Context<Member>,
  input: CreateKey,
  role: Role<Member>,
  { prefix, key }: { prefix: string; key: string | null },
): Promise<string> {
  const { name, access, expires_at: asked = addMs(ctx.now(), DEFAULT_DAYS * DAY_MS) } = input;
  const board_ids = input.board_ids && [...new Set(input.board_ids)];
  return transaction(ctx, async (ctx) => {
    const { active, user_id } = await lockOrganizationAs(ctx, role);
    const { organization_id, member_id } = active;
    const expires_at = requireExpiry(ctx, active, asked);
    await requireRoom(ctx, organization_id);
    await requireBoards(
      ctx,
      organization_id,
      (board_ids ?? []).map((board_id) => ({ board_id })),
    );
    if (!(await mayGiveBoards(ctx, board_ids)))
      throw new DomainError("forbidden", "Only boards of the calling key can be given to a new key");
    const id = await createServiceUser(ctx, organization_id, name);
    await ctx.db.insert(api_keys).values({
      id,
      organization_id,
      owner_member_id: role === member ? member_id : null,
      access,
      board_ids,
      expires_at,
      prefix,
      created_by_user_id: user_id,
    });
    if (key !== null) await insertToken(ctx, id, key);
    await recordAudit(ctx, "key.created", { organization_id, target: { id, name }, after: { access, board_ids, expires_at } });
    return id;
  });
}

function requireExpiry(ctx: Context, { role }: Membership, expires_at: Date | null): Date | null {
  if (expires_at === null) {
    if (role !== "owner") throw new DomainError("forbidden", "Only owners can create keys that do not end");
    return null;
  }
  const now = ctx.now();
  if (expires_at <= now || expires_at > addMs(now, MAX_DAYS * DAY_MS))
    throw new DomainError("invalid", "expires_at must be in the future and at most a year ahead");
  return expires_at;
}

async function requireRoom(ctx: Context<Member>, organization_id: string): Promise<void> {
  const [stored] = await ctx.db.select({ count: count() }).from(api_keys).where(eq(api_keys.organization_id, organization_id));
  if (stored!.count >= MAX_KEYS)
    throw new DomainError(
      "conflict",
      `The organization has ${MAX_KEYS} keys, which is the limit. Revoke keys that are not used.`,
    );
}

/** Returns false if the calling key is limited to boards, and `board_ids` would give a new key access to other boards as well. */
async function mayGiveBoards(ctx: Context<Member>, board_ids: readonly string[] | null): Promise<boolean> {
  if (ctx.actor.key?.is_for_all_boards !== false) return true;
  const [own] = await ctx.db
    .select({ limits: api_keys.board_ids })
    .from(api_keys)
    .where(keyCondition(ctx, ctx.actor.user_id, "any"));
  return board_ids?.every((id) => own?.limits?.includes(id)) === true;
}

/** Gives a key a new token. Earlier tokens work until the overlap ends, or until their own expiry if that is sooner. */
export function rotateKey(ctx: Context<Member>, key_id: string, owner: KeyOwner, input: RotateKey): Promise<NewKey> {
  const { overlap_hours, expires_at: asked } = input;
  const ends_at = addMs(ctx.now(), overlap_hours * (DAY_MS / 24));
  return transaction(ctx, async (ctx) => {
    const { active } = await lockOrganizationAs(ctx, owner === "caller" ? member : admin);
    const expiry = asked === undefined ? {} : { expires_at: requireExpiry(ctx, active, asked), warned_days: null };
    const [stored] = await ctx.db
      .select({ board_ids: api_keys.board_ids })
      .from(api_keys)
      .where(keyCondition(ctx, key_id, owner))
      .for("no key update");
    if (!stored) throw notFound();
    if (!(await mayGiveBoards(ctx, stored.board_ids)))
      throw new DomainError("forbidden", "Only keys for boards of the calling key can be rotated");
    await ctx.db
      .update(api_key_tokens)
      .set({ ends_at })
      .where(and(eq(api_key_tokens.key_id, key_id), or(isNull(api_key_tokens.ends_at), gt(api_key_tokens.ends_at, ends_at))));
    await ctx.db.delete(api_key_tokens).where(and(eq(api_key_tokens.key_id, key_id), lte(api_key_tokens.ends_at, ctx.now())));
    await requireFewTokens(ctx, key_id);
    const key = mintKey();
    await ctx.db
      .update(api_keys)
      .set({ ...expiry, prefix: shownPrefix(key) })
      .where(keyCondition(ctx, key_id, owner));
    await insertToken(ctx, key_id, key);
    const rotated = await readKey(ctx, key_id, owner);
    const entry = { organization_id: rotated.organization_id, target: rotated, after: { overlap_hours, prefix: rotated.prefix } };
    await recordAudit(ctx, "key.rotated", entry);
    return { ...rotated, key };
  });
}

async function requireFewTokens(ctx: Context, key_id: string): Promise<void> {
  const [stored] = await ctx.db.select({ count: count() }).from(api_key_tokens).where(eq(api_key_tokens.key_id, key_id));
  if (stored!.count >= MAX_TOKENS)
    throw new DomainError(
      "conflict",
      "The key was rotated several times and its previous tokens still work. Rotate it with no overlap, or later.",
    );
}

const insertToken = (ctx: Context, key_id: string, key: string) =>
  ctx.db.insert(api_key_tokens).values({ key_id, token_lookup: tokenLookup(ctx.settings.token_pepper, key) });

/** Revokes a key. This takes effect at once in all processes, because each request and each poll of a stream looks the key up. */
export function revokeKey(ctx: Context<Member>, key_id: string, owner: KeyOwner): Promise<void> {
  return transaction(ctx, async (ctx) => {
    const { name, access, board_ids, organization_id } = await readKey(ctx, key_id, owner);
    if (!(await mayGiveBoards(ctx, board_ids)))
      throw new DomainError("forbidden", "Only keys for boards of the calling key can be revoked");
    const condition = keyCondition(ctx, key_id, owner);
    const revoked = await ctx.db.delete(api_keys).where(condition).returning({ id: api_keys.id });
    if (revoked.length === 0) throw notFound();
    await recordAudit(ctx, "key.revoked", { organization_id, target: { id: key_id, name }, before: { access } });
  });
}
