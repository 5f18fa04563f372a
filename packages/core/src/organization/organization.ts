import { asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Member as MemberActor, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { Id, Instant } from "../wire.ts";
import { organization_members, organizations } from "./organization.sql.ts";
import { ensureActiveOrganization } from "./user.ts";

export const Organization = z
  .object({
    id: Id.describe("Id of the organization."),
    name: z.string().describe("Name of the organization."),
    created_at: Instant.describe("When it was made."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "Organization", description: "A tenant." });
export type Organization = z.infer<typeof Organization>;

export const MemberRole = z.enum(["owner", "admin", "member"]);

export const OrganizationListItem = z
  .object({
    id: Id.describe("Id of the organization."),
    name: z.string().describe("Name of the organization."),
    role: MemberRole.describe("The caller's role in it."),
    is_active: z.boolean().describe("Whether the caller works in it now."),
  })
  .meta({ id: "OrganizationListItem", description: "An organization of the caller." });
export type OrganizationListItem = z.infer<typeof OrganizationListItem>;

export async function getOrganization(ctx: Context<MemberActor>): Promise<Organization> {
  const [row] = await ctx.db.select().from(organizations).where(eq(organizations.id, ctx.actor.active.organization_id));
  if (!row) throw notFound();
  return { id: row.id, name: row.name, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

/** The caller's organizations by name; a caller without any gets a personal one. */
export async function listOrganizations(ctx: Context<User>): Promise<OrganizationListItem[]> {
  const active = ctx.actor.active ?? (await ensureActiveOrganization(ctx));
  const rows = await ctx.db
    .select({ id: organizations.id, name: organizations.name, role: organization_members.role })
    .from(organization_members)
    .innerJoin(organizations, eq(organizations.id, organization_members.organization_id))
    .where(eq(organization_members.user_id, ctx.actor.user_id))
    .orderBy(asc(sql`lower(${organizations.name})`), asc(organizations.id));
  return rows.map((row) => ({ ...row, is_active: row.id === active.organization_id }));
}
