import { and, asc, eq, getTableColumns, ne, sql } from "drizzle-orm";
import * as z from "zod";
import { type Admin, admin, type Member as MemberActor, type User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { actingAs } from "../db/change-actor.ts";
import { countOfDay } from "../db/rate-limit.ts";
import { type ArrayQuery, arrayLimit } from "../lists/page.ts";
import { Id, Instant, MAX_NAME, NonEmpty, lazyObject } from "../values/wire.ts";
import { lockOrganizationAs, lockUser } from "./lock.ts";
import { organization_members, organizations } from "../schema/organization.sql.ts";
import { createOrganizationWithOwner, setActiveOrganization } from "./user.ts";
import { recordAudit } from "../audit/record.ts";

export const Organization = lazyObject(() => ({
  id: Id.describe("Id of the organization."),
  name: z.string().describe("Name of the organization."),
  created_at: Instant.describe("When it was created."),
  updated_at: Instant.describe("When it last changed."),
})).meta({ id: "Organization", description: "A tenant." });
export type Organization = z.infer<typeof Organization>;

export const MemberRole = z.enum(["owner", "admin", "member"]);

export const OrganizationListItem = lazyObject(() => ({
  id: Id.describe("Id of the organization."),
  name: z.string().describe("Name of the organization."),
  role: MemberRole.describe("The caller's role in it."),
  is_active: z.boolean().describe("Whether it is the caller's active organization."),
})).meta({ id: "OrganizationListItem", description: "An organization of the caller." });
export type OrganizationListItem = z.infer<typeof OrganizationListItem>;

export const CreateOrganization = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Name. It must differ from the names of the caller's other organizations."),
})).meta({ id: "OrganizationCreate" });
export type CreateOrganization = z.infer<typeof CreateOrganization>;

export const UpdateOrganization = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).optional().describe("New name. It must differ from the names of the caller's other organizations."),
})).meta({ id: "OrganizationUpdate" });
export type UpdateOrganization = z.infer<typeof UpdateOrganization>;

export const ActivateOrganization = lazyObject(() => ({ organization_id: Id.describe("An organization of the caller.") })).meta({
  id: "OrganizationActivate",
});
export type ActivateOrganization = z.infer<typeof ActivateOrganization>;

export async function getOrganization(ctx: Context<MemberActor>): Promise<Organization> {
  const [row] = await ctx.db.select().from(organizations).where(eq(organizations.id, ctx.actor.active.organization_id));
  if (!row) throw notFound();
  return toOrganization(row);
}

const MIN_ORGANIZATION_BYTES = 90;

/** Lists the caller's organizations, by name. */
export async function listOrganizations(ctx: Context<MemberActor>, query: ArrayQuery): Promise<OrganizationListItem[]> {
  const rows = await ctx.db
    .select({ id: organizations.id, name: organizations.name, role: organization_members.role })
    .from(organization_members)
    .innerJoin(organizations, eq(organizations.id, organization_members.organization_id))
    .where(eq(organization_members.user_id, ctx.actor.user_id))
    .orderBy(asc(sql`lower(${organizations.name})`), asc(organizations.id))
    .limit(arrayLimit(ctx, MIN_ORGANIZATION_BYTES, query))
    .offset(query.offset);
  return rows.map((row) => ({ ...row, is_active: row.id === ctx.actor.active.organization_id }));
}

/** Creates an organization that the caller owns, and activates it. Other users may have organizations with the same name. */
export function createOrganization(ctx: Context<User>, { name }: CreateOrganization): Promise<Organization> {
  const { user_id } = ctx.actor;
  return transaction(ctx, async (ctx) => {
    await lockUser(ctx, user_id);
    await requireNewName(ctx, name);
    await countOfDay(ctx, "organizations_per_day", user_id, toLimitText);
    const { organization } = await createOrganizationWithOwner(ctx, user_id, name);
    await setActiveOrganization(ctx, user_id, organization.id);
    return toOrganization(organization);
  });
}

const toLimitText = (limit: number) => `You have created ${limit} organizations today, which is the limit. Try again tomorrow.`;

/**
 * Renames the active organization. The lock on the caller keeps two concurrent requests from giving two organizations the same
 * name.
 */
export function updateOrganization(ctx: Context<Admin>, { name }: UpdateOrganization): Promise<Organization> {
  const { user_id } = ctx.actor;
  return transaction(ctx, async (ctx) => {
    await lockUser(ctx, user_id);
    await lockOrganizationAs(ctx, admin);
    const stored = await getOrganization(ctx);
    if (name === undefined || name === stored.name) return stored;
    await requireNewName(ctx, name, stored.id);
    const [row] = await ctx.db
      .update(organizations)
      .set({ name })
      .where(and(eq(organizations.id, stored.id), actingAs(ctx)))
      .returning();
    const entry = { organization_id: stored.id, target: stored, before: { name: stored.name }, after: { name } };
    await recordAudit(ctx, "organization.updated", entry);
    return toOrganization(row!);
  });
}

/** Checks that no other organization of the caller has this name. The caller must hold the lock on the user. */
async function requireNewName(ctx: Context<User>, name: string, own_id?: string): Promise<void> {
  const [existing] = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .innerJoin(organization_members, eq(organization_members.organization_id, organizations.id))
    .where(
      and(
        eq(organization_members.user_id, ctx.actor.user_id),
        sql`lower(${organizations.name}) = lower(${name})`,
        own_id === undefined ? undefined : ne(organizations.id, own_id),
      ),
    )
    .limit(1);
  if (existing) throw new DomainError("conflict", "You already belong to an organization with this name");
}

/** Makes one of the caller's organizations the active one. */
export async function activateOrganization(ctx: Context<User>, { organization_id }: ActivateOrganization): Promise<Organization> {
  const { user_id, active } = ctx.actor;
  const [row] = await ctx.db
    .select(getTableColumns(organizations))
    .from(organizations)
    .innerJoin(organization_members, eq(organization_members.organization_id, organizations.id))
    .where(and(eq(organizations.id, organization_id), eq(organization_members.user_id, user_id)));
  if (!row) throw notFound();
  if (active?.organization_id !== organization_id) await setActiveOrganization(ctx, user_id, organization_id);
  return toOrganization(row);
}

function toOrganization({ id, name, created_at, updated_at }: typeof organizations.$inferSelect): Organization {
  return { id, name, created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
}
