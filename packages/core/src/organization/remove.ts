import { asc, eq, type SQL, sql } from "drizzle-orm";
import { type Admin, admin } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { enqueueCleanups } from "../agent/jobs.ts";
import { boards } from "../schema/board.sql.ts";
import { removeChangesOf } from "../change/retention.ts";
import type { Context } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { removeAnswersOfOrganization } from "../idempotency/retention.ts";
import { removeOrganizationJobs } from "../job/job.ts";
import { tasks } from "../schema/task.sql.ts";
import { removePayloadsOfOrganization } from "../webhook/payload-usage.ts";
import { lockOrganization, recheckCaller } from "./lock.ts";
import { removeTextUsage } from "./text-usage.ts";
import { reassignActiveOrganization } from "./remove-member.ts";
import { organizations } from "../schema/organization.sql.ts";

/** Removes the active organization with everything in it. Only owners may do this. */
export async function removeActiveOrganization(ctx: Context<Admin>): Promise<void> {
  const { organization_id } = ctx.actor.active;
  requireOwner(ctx.actor);
  await withLockTimeoutRetry(ctx, async (ctx) => {
    await lockWholeOrganization(ctx, organization_id);
    requireOwner(await recheckCaller(ctx, organization_id, admin));
    await removeLockedOrganization(ctx, organization_id);
  });
}

function requireOwner({ active }: Admin): void {
  if (active.role !== "owner") throw new DomainError("forbidden", "Only organization owners can delete organizations");
}

/**
 * Removes an organization and, by cascade, its rows. The clean-up jobs of its agents are kept and contain the connection data of
 * the removed gateways. Call it in `withLockTimeoutRetry`.
 */
export async function removeOrganization(ctx: Context, organization_id: string): Promise<void> {
  await lockWholeOrganization(ctx, organization_id);
  await removeLockedOrganization(ctx, organization_id);
}

async function lockWholeOrganization(ctx: Context, organization_id: string): Promise<void> {
  await reassignActiveOrganization(ctx, organization_id);
  await quiesce(ctx, organization_id);
  await lockOrganization(ctx, organization_id, "update");
}

async function removeLockedOrganization(ctx: Context, organization_id: string): Promise<void> {
  await removeOrganizationJobs(ctx, organization_id);
  await removeAnswersOfOrganization(ctx, organization_id);
  // The lock prevents new agents from being created on a gateway after its agents were read.
  const organizationGateways = await ctx.db
    .select()
    .from(gateways)
    .where(eq(gateways.organization_id, organization_id))
    .orderBy(asc(gateways.id))
    .for("update");
  for (const gateway of organizationGateways) {
    const gatewayAgents = await ctx.db.select().from(agents).where(eq(agents.gateway_id, gateway.id)).orderBy(asc(agents.id));
    await enqueueCleanups(ctx, gateway, gatewayAgents);
  }
  await removePayloadsOfOrganization(ctx, organization_id);
  await removeTextUsage(ctx, organization_id);
  await ctx.db.delete(organizations).where(eq(organizations.id, organization_id));
  await removeChangesOf(ctx, organization_id);
}

/**
 * Waits for running changes of boards, tasks and agents, and blocks new changes. Call it before locking the organization: running
 * changes lock the organization's row for their foreign keys, so the two locks would deadlock.
 */
async function quiesce(ctx: Context, organization_id: string): Promise<void> {
  const lockRows = (rows: SQL) => ctx.db.execute(sql`select count(*) from (${rows} order by id for no key update) as locked`);
  const boardIds = sql`select id from ${boards} where organization_id = ${organization_id}`;
  const gatewayIds = sql`select id from ${gateways} where organization_id = ${organization_id}`;
  await lockRows(boardIds);
  await lockRows(sql`select id from ${tasks} where board_id in (${boardIds})`);
  await lockRows(sql`select id from ${agents} where gateway_id in (${gatewayIds})`);
}
