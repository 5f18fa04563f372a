import { and, eq, inArray, isNull, notInArray, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import type { JobRow } from "./job.ts";
import { queueOf, SYNC_KINDS, UNBUDGETED_KINDS } from "./kinds.ts";

/*
 * A running job holds one numbered slot of its organization and one of its gateway. Unique indexes prevent two jobs from holding
 * the same slot, so the limits apply across processes. A slot is free as soon as its job stops running.
 */

/** Returns a condition on the kind of a job. Kinds are literals in the SQL, so that the server can keep one plan. */
const isKind = (kinds: readonly string[]) => sql`${jobs}.kind in (${sql.raw(kinds.map((kind) => `'${kind}'`).join(", "))})`;

const sign = sql`(case when ${isKind(SYNC_KINDS)} then -1 else 1 end)`;

/**
 * The limits of running jobs of an organization, of a gateway, and of an organization's deliveries; 0 means no limit. They are
 * literals in the SQL, because with limits as parameters the server plans the statement for every job.
 */
export type SlotLimits = readonly [organization: number, gateway: number, deliveries: number];

export const slotLimits = ({ settings: { budgets } }: Pick<Context, "settings">): SlotLimits => [
  budgets.organization_running_jobs,
  budgets.gateway_running_jobs,
  budgets.organization_running_deliveries,
];

interface Budget {
  /** A number, or an SQL expression if the limit is stored in a row. */
  limit: number | SQL;
  isOwn: SQL;
  slot: SQL;
  /** The id that the budget belongs to. */
  owner: SQL;
}

const organizationBudget = (limit: number): Budget => ({
  limit,
  isOwn: sql`other.organization_id = ${jobs}.organization_id`,
  slot: sql`other.organization_slot`,
  owner: sql`${jobs}.organization_id`,
});
const gatewayBudget = (limit: number): Budget => ({
  limit,
  isOwn: sql`other.gateway_id = ${jobs}.gateway_id`,
  slot: sql`other.gateway_slot`,
  owner: sql`${jobs}.gateway_id`,
});

const inText = (limit: number | SQL): SQL => (typeof limit === "number" ? sql.raw(String(limit)) : limit);

function hasFreeSlot({ limit, isOwn, slot }: Budget): SQL {
  if (limit === 0) return sql`true`;
  return sql`(select count(*) from ${jobs} as other
    where other.status = 'running' and ${isOwn} and ${slot} * ${sign} > 0) < ${inText(limit)}`;
}

/**
 * Selects the first free slot that no other worker is choosing: a worker locks the number until its statement ends. If all free
 * slots are locked, the number is a random one, which may violate the unique index. Returns null if there is no limit.
 */
function freeSlot({ limit, isOwn, slot, owner }: Budget): SQL {
  const free = (order: SQL) => sql`select number from generate_series(1, ${inText(limit)}) as number
    where not exists (select 1 from ${jobs} as other where other.status = 'running' and ${isOwn} and ${slot} = ${sign} * number)
    order by ${order}`;
  const key = sql`hashtextextended(coalesce(${owner}::text, ''), ${sign} * free.number)`;
  return sql`${sign} * coalesce((select number from (${free(sql`number`)}) as free where pg_try_advisory_xact_lock(${key}) limit 1),
    (${free(sql`random()`)} limit 1))`;
}

const isUnbudgeted = isKind(UNBUDGETED_KINDS);

/**
 * Returns the condition that the organization of a job has a free slot. The jobs of all deleted organizations share one budget.
 * No unique index covers the slots of these jobs, so the jobs can briefly exceed the budget.
 */
const organizationHasFreeSlot = (budget: Budget) => sql`case when ${jobs}.organization_id is null
  then ${hasFreeSlot({ ...budget, isOwn: sql`other.organization_id is null` })}
  else ${hasFreeSlot(budget)} end`;

/**
 * How many deliveries of a subscription may run. A throttled subscription, whose receiver failed or was slow, may run one at a
 * time, so that it occupies few workers.
 */
const SUBSCRIPTION_SLOTS = 20;
const subscriptionBudget: Budget = {
  limit: sql`(select case when throttled then 1 else ${sql.raw(String(SUBSCRIPTION_SLOTS))} end from ${subscriptions}
    where ${subscriptions}.id = ${jobs}.subscription_id)`,
  isOwn: sql`other.subscription_id = ${jobs}.subscription_id`,
  slot: sql`other.subscription_slot`,
  owner: sql`${jobs}.subscription_id`,
};
/**
 * Returns the condition that the organization has fewer running deliveries than its limit. Workers that lease at the same time may
 * exceed the limit briefly.
 */
const deliveriesAreFree = (limit: number) =>
  limit === 0
    ? sql`true`
    : sql`(select count(*) from ${jobs} as other where other.status = 'running'
  and other.organization_id = ${jobs}.organization_id and other.subscription_id is not null) < ${inText(limit)}`;

/** How many deliveries of an organization to all of its throttled subscriptions together may run. */
const SLOW_DELIVERIES = 8;
const ownSubscription = (which: string) => sql`from ${subscriptions} as own where own.id = ${sql.raw(which)}.subscription_id`;
const slowDeliveriesAreFree = sql`(not (select own.throttled ${ownSubscription('"jobs"')})
  or (select count(*) from ${jobs} as other where other.status = 'running' and other.organization_id = ${jobs}.organization_id
    and other.subscription_id is not null and (select own.throttled ${ownSubscription("other")})) < ${sql.raw(String(SLOW_DELIVERIES))})`;

/** Returns columns that tell whether a queued job finds a free slot for its organization, its gateway and its subscription. */
export const freeSlotsWithin = ([organization, gateway, deliveries]: SlotLimits) => ({
  organization_free: sql<boolean>`(${isUnbudgeted} or ${organizationHasFreeSlot(organizationBudget(organization))})`,
  gateway_free: sql<boolean>`(${isUnbudgeted} or ${jobs}.gateway_id is null or ${hasFreeSlot(gatewayBudget(gateway))})`,
  subscription_free: sql<boolean>`(${jobs}.subscription_id is null
    or (${deliveriesAreFree(deliveries)} and ${slowDeliveriesAreFree} and ${hasFreeSlot(subscriptionBudget)}))`,
});

/** Returns the condition that a job can get its slots. A job that is taken over from a crashed worker keeps its slots. */
export function hasFreeSlots(limits: SlotLimits): SQL {
  const { organization_free, gateway_free, subscription_free } = freeSlotsWithin(limits);
  return sql`(${jobs}.status = 'running' or (${organization_free} and ${gateway_free} and ${subscription_free}))`;
}

const keepOr = (own: SQL, free: SQL) =>
  sql`case when ${jobs}.status = 'running' then ${own} when not ${isUnbudgeted} then ${free} end`;

/** Returns the column values that a lease writes to take the slots of its job. */
export const takenSlots = ([organization, gateway]: SlotLimits) => ({
  organization_slot: keepOr(sql`${jobs}.organization_slot`, freeSlot(organizationBudget(organization))),
  gateway_slot: keepOr(
    sql`${jobs}.gateway_slot`,
    sql`case when ${jobs}.gateway_id is not null then ${freeSlot(gatewayBudget(gateway))} end`,
  ),
  subscription_slot: sql`case when ${jobs}.status = 'running' then ${jobs}.subscription_slot
    when ${jobs}.subscription_id is not null then ${freeSlot(subscriptionBudget)} end`,
});

/** Checks whether a lease failed because another worker took the same slot at the same time. */
export const isSlotCollision = (violated_index: string | null): boolean =>
  ["jobs_organization_slot", "jobs_gateway_slot", "jobs_subscription_slot"].includes(violated_index ?? "");

/** The column values that free the slots of a job that stops running. */
export const freedSlots = { lease_until: null, organization_slot: null, gateway_slot: null, subscription_slot: null } as const;

const ofOrganization = ({ organization_id }: JobRow) =>
  organization_id === null ? isNull(jobs.organization_id) : eq(jobs.organization_id, organization_id);

/**
 * Returns the condition that jobs of the organization are waiting for slots. The statement that ends a job returns this as a
 * column.
 */
export const hasHeldJobs = ({
  organization_id,
}: {
  organization_id: string | Placeholder | null;
}) => sql<boolean>`exists (select 1 from ${jobs} as held
  where held.held_by in ('organization', 'gateway', 'subscription')
    and held.organization_id ${organization_id === null ? sql`is null` : sql`= ${organization_id}`})`;

/**
 * Wakes the oldest jobs that wait for a slot that the ended job has freed: one job of its organization, one of its gateway, one
 * delivery of its organization, and one delivery of its subscription.
 */
export async function wakeHeldJobs(ctx: Context, ended: JobRow): Promise<void> {
  const isSameQueue = (queueOf(ended.kind) === "syncs" ? inArray : notInArray)(jobs.kind, SYNC_KINDS);
  const oldest = (condition: SQL | undefined) =>
    ctx.db
      .select({ id: jobs.id })
      .from(jobs)
      .where(and(condition, isSameQueue, eq(jobs.status, "queued")))
      .orderBy(jobs.seq)
      .limit(1)
      .for("no key update", { skipLocked: true });
  const ofGateway = ended.gateway_id === null ? sql`false` : eq(jobs.gateway_id, ended.gateway_id);
  const isDelivery = ended.subscription_id !== null;
  const heldDelivery = and(eq(jobs.held_by, "subscription"), ofOrganization(ended));
  const ofSubscription = isDelivery ? eq(jobs.subscription_id, ended.subscription_id!) : sql`false`;
  const woken = await ctx.db
    .update(jobs)
    .set({ run_at: ctx.now(), sent_at: null, held_by: null })
    .where(
      or(
        inArray(jobs.id, oldest(and(eq(jobs.held_by, "organization"), ofOrganization(ended)))),
        inArray(jobs.id, oldest(and(eq(jobs.held_by, "gateway"), ofGateway))),
        inArray(jobs.id, oldest(isDelivery ? heldDelivery : sql`false`)),
        inArray(jobs.id, oldest(and(eq(jobs.held_by, "subscription"), ofSubscription))),
      ),
    )
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of woken) addPendingWakeup(ctx.pendingWakeups, job);
}
