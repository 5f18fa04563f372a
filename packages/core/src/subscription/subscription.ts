import { and, count, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { newestFirst } from "../lists/keyset.ts";
import { FetchError } from "../context/http-client.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { Id, Instant, MAX_URL, NonEmpty, TextOrNull, lazyObject } from "../values/wire.ts";
import { addressColumns, changeAddress } from "./address.ts";
import { ALL_EVENTS, EventTypes } from "./event-types.ts";
import { isOwnedBy, lockOwner, type Owner, ownedBy } from "./owner.ts";
import { sealSecret, toRotatedSecret } from "../db/rotated-secret.ts";
import { createSecret } from "./secret.ts";
import { type SubscriptionRow, SUBSCRIPTION_FORMATS, subscriptions } from "../schema/subscription.sql.ts";
import { listOf } from "../lists/list.ts";
import { recordAudit } from "../audit/record.ts";

const MAX_DESCRIPTION = 1_000;

export const Subscription = lazyObject(() => ({
  id: Id.describe("Id of the subscription."),
  organization_id: Id.describe("Organization that the subscription belongs to."),
  board_id: Id.nullable().describe("Board whose events are sent; null for all boards of the organization."),
  url: z
    .string()
    .describe(
      "Where events are posted to. With format `slack` it is a credential: only host and last four characters are shown.",
    ),
  active: z.boolean().describe("Whether events are sent."),
  event_types: z.array(z.string()).describe("Names of board events; `*` stands for any text."),
  description: z.string().nullable().describe("What the subscription is for."),
  format: z.enum(SUBSCRIPTION_FORMATS).describe("`standard` for Standard Webhooks, `slack` for a text to an incoming webhook."),
  disabled_reason: z.string().nullable().describe("Why the service switched the subscription off; null when it did not."),
  failing_since: Instant.nullable().describe("The first failure after the last success; null when the last attempt succeeded."),
  created_at: Instant.describe("When the subscription was created."),
  updated_at: Instant.describe("When the subscription last changed."),
})).meta({ id: "Subscription", description: "An address to which board events are sent." });
export type Subscription = z.infer<typeof Subscription>;

export const SubscriptionWithSecret = lazyObject(() => ({
  ...Subscription.shape,
  secret: z
    .string()
    .nullable()
    .describe("Key of the signatures. It is not shown again; null in the repeated answer to a request with Idempotency-Key."),
})).meta({ id: "SubscriptionWithSecret", description: "A subscription with its new secret." });
export type SubscriptionWithSecret = z.infer<typeof SubscriptionWithSecret>;

const Fields = lazyObject(() => ({
  url: NonEmpty(MAX_URL).describe(
    "https address of a public host, port 443. Sending the shortened address of format `slack` back keeps the stored one.",
  ),
  active: z.boolean().describe("Whether events are sent. Switching it on again forgets earlier failures."),
  event_types: EventTypes,
  description: TextOrNull(MAX_DESCRIPTION).describe("What the subscription is for."),
  format: z.enum(SUBSCRIPTION_FORMATS).describe("`standard` for Standard Webhooks, `slack` for a text to an incoming webhook."),
}));

export const CreateSubscription = lazyObject(() => ({
  ...Fields.shape,
  active: Fields.shape.active.default(true),
  event_types: Fields.shape.event_types.default(ALL_EVENTS),
  description: Fields.shape.description.default(null),
  format: Fields.shape.format.default("standard"),
})).meta({ id: "SubscriptionCreate" });
export type CreateSubscription = z.infer<typeof CreateSubscription>;

export const UpdateSubscription = lazyObject(() => Fields.partial().shape).meta({ id: "SubscriptionUpdate" });
export type UpdateSubscription = z.infer<typeof UpdateSubscription>;

const subscriptionList = listOf({
  name: "subscriptions",
  table: subscriptions,
  columns: getTableColumns(subscriptions),
  order: newestFirst(subscriptions),
});

/** Lists the owner's subscriptions, newest first. */
export const listSubscriptions = (ctx: Context<User>, owner: Owner, query: PageQuery): Promise<Page<Subscription>> =>
  subscriptionList.read(ctx, query, {
    owner: owner.board_id ?? owner.organization_id,
    filters: [ownedBy(owner)],
    toItem: toSubscription,
  });

/** Returns a subscription of the owner. Throws `not_found`. `locked` prevents its removal until the transaction ends. */
export async function getSubscriptionRow(
  ctx: Context,
  owner: Owner,
  subscription_id: string,
  lock?: "locked",
): Promise<SubscriptionRow> {
  const query = ctx.db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.id, subscription_id), isOwnedBy(owner)));
  const [row] = await (lock ? query.for("key share") : query);
  if (!row) throw notFound();
  return row;
}

export const getSubscription = async (ctx: Context, owner: Owner, subscription_id: string): Promise<Subscription> =>
  toSubscription(await getSubscriptionRow(ctx, owner, subscription_id));

export async function createSubscription(
  ctx: Context<User>,
  owner: Owner,
  input: CreateSubscription,
): Promise<SubscriptionWithSecret> {
  await requireReceiver(ctx, owner, input.url);
  const secret = createSecret();
  return transaction(ctx, async (ctx) => {
    await requireRoom(ctx, owner);
    const [row] = await ctx.db
      .insert(subscriptions)
      .values({ ...input, ...addressColumns(ctx, input), ...owner, secret_sealed: sealSecret(ctx, secret) })
      .returning();
    const subscription = { ...toSubscription(row!), secret };
    await recordSubscriptionAudit(ctx, "subscription.created", null, row!);
    await ctx.recordAnswer?.(ctx, subscription);
    return subscription;
  });
}

export async function updateSubscription(
  ctx: Context<User>,
  owner: Owner,
  subscription_id: string,
  input: UpdateSubscription,
): Promise<Subscription> {
  const { url: sent, ...others } = input;
  const url = sent === (await getSubscriptionRow(ctx, owner, subscription_id)).url ? undefined : sent;
  if (url !== undefined) await requireReceiver(ctx, owner, url);
  return transaction(ctx, async (ctx) => {
    const where = and(eq(subscriptions.id, subscription_id), isOwnedBy(owner));
    const [stored] = await ctx.db.select().from(subscriptions).where(where).for("no key update");
    if (!stored) throw notFound();
    const isFresh = input.active === true && !stored.active;
    const address = changeAddress(ctx, stored, { url, format: others.format });
    const isNewReceiver = url !== undefined && !isEmpty(address);
    const health = isFresh || isNewReceiver ? HEALTHY : {};
    const changes = changedFields(stored, { ...others, ...address, ...health });
    if (isEmpty(changes)) return toSubscription(stored);
    const [row] = await ctx.db.update(subscriptions).set(changes).where(where).returning();
    await recordSubscriptionAudit(ctx, "subscription.updated", stored, row!);
    return toSubscription(row!);
  });
}

/** The state of a receiver that was changed or reactivated, in which earlier failures no longer count. */
const HEALTHY = { disabled_reason: null, failing_since: null, throttled: false };

/** Removes the subscription and its deliveries. The database removes their jobs by cascade. */
export async function removeSubscription(ctx: Context<User>, owner: Owner, subscription_id: string): Promise<void> {
  await withLockTimeoutRetry(ctx, async (ctx) => {
    const [removed] = await ctx.db
      .delete(subscriptions)
      .where(and(eq(subscriptions.id, subscription_id), isOwnedBy(owner)))
      .returning();
    if (!removed) throw notFound();
    await recordSubscriptionAudit(ctx, "subscription.removed", removed, null);
  });
}

/** Replaces the secret. For a day, messages are signed with the old secret as well. */
export function rotateSecret(ctx: Context<User>, owner: Owner, subscription_id: string): Promise<SubscriptionWithSecret> {
  return transaction(ctx, async (ctx) => {
    const where = and(eq(subscriptions.id, subscription_id), isOwnedBy(owner));
    const [stored] = await ctx.db.select().from(subscriptions).where(where).for("no key update");
    if (!stored) throw notFound();
    const secret = createSecret();
    const [row] = await ctx.db
      .update(subscriptions)
      .set(toRotatedSecret(ctx, stored.secret_sealed, secret))
      .where(where)
      .returning();
    await recordSubscriptionAudit(ctx, "subscription.updated", stored, row!);
    return { ...toSubscription(row!), secret };
  });
}

type SubscriptionAction = "subscription.created" | "subscription.updated" | "subscription.removed";

function recordSubscriptionAudit(
  ctx: Context,
  action: SubscriptionAction,
  before: SubscriptionRow | null,
  after: SubscriptionRow | null,
): Promise<void> {
  const { id, organization_id, url: name } = (after ?? before)!;
  return recordAudit(ctx, action, { organization_id, target: { id, name }, before, after });
}

async function requireReceiver(ctx: Context, { organization_id }: Owner, url: string): Promise<void> {
  try {
    await ctx.http.checkReceiver(url, organization_id);
  } catch (error) {
    if (error instanceof FetchError) throw new DomainError("invalid", `${error.message}.`);
    throw error;
  }
}

/** Throws `conflict` if the organization has reached its limit. The lock keeps concurrent requests from exceeding it together. */
async function requireRoom(ctx: Context<User>, owner: Owner): Promise<void> {
  await lockOwner(ctx, owner);
  const { organization_id } = owner;
  const limit = ctx.settings.budgets.organization_subscriptions;
  const [row] = await ctx.db
    .select({ total: count() })
    .from(subscriptions)
    .where(eq(subscriptions.organization_id, organization_id));
  if (row!.total >= limit)
    throw new DomainError("conflict", `The organization has ${limit} subscriptions, which is the limit. Delete one first.`);
}

function toSubscription(row: SubscriptionRow): Subscription {
  const { id, organization_id, board_id, url, active, event_types, description, format, disabled_reason } = row;
  return {
    id,
    organization_id,
    board_id,
    url,
    active,
    event_types,
    description,
    format,
    disabled_reason,
    failing_since: row.failing_since?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
