import { asc, eq, type SQL, sql } from "drizzle-orm";
import type { Admin } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import { enqueueCleanups } from "../agent/cleanup.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { DomainError } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { dropJobs } from "../job/job.ts";
import { tasks } from "../task/task.sql.ts";
import { lockOrganization } from "./lock.ts";
import { leaveBehind } from "./member-removal.ts";
import { organizations } from "./organization.sql.ts";

/** Removes the active organization with all that is in it, for its owners. */
export async function deleteOrganization(ctx: Context<Admin>): Promise<void> {
  const { organization_id, role } = ctx.actor.active;
  if (role !== "owner") throw new DomainError("forbidden", "Only organization owners can delete organizations");
  await transactionGivingWay(ctx, (ctx) => removeOrganization(ctx, organization_id));
}

/**
 * Removes an organization, its rows by cascade. What stays are the clean-up jobs of its agents: they carry the connections
 * of the gateways that go with it. To be called in a transaction that gives way.
 */
export async function removeOrganization(ctx: Context, organization_id: string): Promise<void> {
  await leaveBehind(ctx, organization_id);
  await quiesce(ctx, organization_id);
  await lockOrganization(ctx, organization_id, "update");
  await dropJobs(ctx, organization_id);
  // Locked, so that no agent is made on a gateway after its agents were read.
  const hosts = await ctx.db
    .select()
    .from(gateways)
    .where(eq(gateways.organization_id, organization_id))
    .orderBy(asc(gateways.id))
    .for("update");
  for (const gateway of hosts) {
    const staff = await ctx.db.select().from(agents).where(eq(agents.gateway_id, gateway.id)).orderBy(asc(agents.id));
    await enqueueCleanups(ctx, gateway, staff);
  }
  await ctx.db.delete(organizations).where(eq(organizations.id, organization_id));
}

/**
 * Waits for the changes that are under way on the busiest rows and keeps further ones from starting, before anything is
 * locked that they need to get done: by their foreign keys they refer to the organization, and to these rows.
 */
async function quiesce(ctx: Context, organization_id: string): Promise<void> {
  const hold = (rows: SQL) => ctx.db.execute(sql`select count(*) from (${rows} order by id for no key update) as held`);
  const ownBoards = sql`select id from ${boards} where organization_id = ${organization_id}`;
  const ownGateways = sql`select id from ${gateways} where organization_id = ${organization_id}`;
  await hold(ownBoards);
  await hold(sql`select id from ${tasks} where board_id in (${ownBoards})`);
  await hold(sql`select id from ${agents} where gateway_id in (${ownGateways})`);
}
