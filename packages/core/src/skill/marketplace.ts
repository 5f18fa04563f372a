import { and, count, desc, eq, getTableColumns, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { readPageAndCount } from "../page.ts";
import { Id, MAX_INTEGER, MAX_NAME, MAX_URL, QueryInteger, rule } from "../wire.ts";
import { skill_packs } from "./pack.sql.ts";
import { selectCards, type SkillCard, toCard } from "./skill.ts";
import { marketplace_skills } from "./skill.sql.ts";

/** As many as a list without a limit shows. */
const MAX_CARDS = 5_000;
const MAX_LIMIT = 200;
const UNCATEGORIZED = "uncategorized";

const Label = z.string().trim().max(MAX_NAME).optional();

export const SkillsQuery = z
  .object({
    gateway_id: Id.optional().describe("Gateway that `installed` is about. Left out: the organization's only one."),
    search: z.string().trim().max(MAX_URL).optional().describe("Part of any text of the skill or of its url, in any case."),
    category: Label.describe(`Category in any case; \`${UNCATEGORIZED}\` for skills without one.`),
    risk: Label.describe(`Risk in any case; \`${UNCATEGORIZED}\` for skills without one.`),
    pack_id: Id.optional().describe("Only skills of this pack."),
    limit: QueryInteger(1, MAX_LIMIT).optional().describe(`How many skills at the most. Left out: all, up to ${MAX_CARDS}.`),
    offset: QueryInteger(0, MAX_INTEGER).optional().describe("How many skills to skip; only with `limit`."),
  })
  .refine(({ limit, offset }) => offset === undefined || limit !== undefined, {
    ...rule("offset needs limit"),
    path: ["offset"],
  });
export type SkillsQuery = z.infer<typeof SkillsQuery>;

/** The cards, and where they stand in the list when a limit was sent. */
export interface SkillList {
  cards: SkillCard[];
  page: { total: number; limit: number; offset: number } | null;
}

/** The marketplace of the active organization, newest first. */
export async function listSkills(ctx: Context<Admin>, query: SkillsQuery): Promise<SkillList> {
  const { gateway_id, search, category, risk, pack_id, limit, offset = 0 } = query;
  if (gateway_id !== undefined) await requireOwnGateway(ctx, gateway_id);
  const pack_url = pack_id === undefined ? null : await requirePackUrl(ctx, pack_id);
  const where = and(
    search ? hasPart(search) : undefined,
    category ? isLabelled(marketplace_skills.category, category) : undefined,
    risk ? isLabelled(marketplace_skills.risk, risk) : undefined,
    pack_url === null ? undefined : inPack(pack_url),
  );
  const read = (limit: number, offset: number) =>
    selectCards(ctx, where, gateway_id)
      .orderBy(desc(marketplace_skills.created_at), desc(marketplace_skills.id))
      .limit(limit)
      .offset(offset);
  if (limit === undefined) return { cards: (await read(MAX_CARDS, 0)).map(toCard), page: null };
  const own = and(eq(marketplace_skills.organization_id, ctx.actor.active.organization_id), where);
  const counted = () => ctx.db.select({ total: count() }).from(marketplace_skills).where(own);
  const { items, ...page } = await readPageAndCount({ limit, offset }, read, async () => (await counted())[0]!.total, toCard);
  return { cards: items, page };
}

/** The skills of a pack: its own url, or one below it. */
export const inPack = (pack_url: string): SQL | undefined =>
  or(eq(marketplace_skills.source_url, pack_url), sql`starts_with(${marketplace_skills}.source_url, ${`${pack_url}/`}::text)`);

/** Whatever is searched for is taken word for word, `%` and `_` too. */
function hasPart(search: string): SQL | undefined {
  const { name, description, category, risk, source_label, source_url } = getTableColumns(marketplace_skills);
  const part = sql`lower(${search}::text)`;
  return or(
    ...[name, description, category, risk, source_label, source_url].map(
      (column) => sql`position(${part} in lower(${column})) > 0`,
    ),
  );
}

const isLabelled = (column: (typeof marketplace_skills)["category" | "risk"], label: string): SQL =>
  label.toLowerCase() === UNCATEGORIZED
    ? sql`coalesce(trim(${column}), '') in ('', ${UNCATEGORIZED})`
    : sql`lower(trim(${column})) = lower(${label}::text)`;

async function requireOwnGateway(ctx: Context<Admin>, gateway_id: string): Promise<void> {
  const [gateway] = await ctx.db
    .select({ id: gateways.id })
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, ctx.actor.active.organization_id)));
  if (!gateway) throw notFound();
}

async function requirePackUrl(ctx: Context<Admin>, pack_id: string): Promise<string> {
  const [pack] = await ctx.db
    .select({ source_url: skill_packs.source_url })
    .from(skill_packs)
    .where(and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id)));
  if (!pack) throw notFound();
  return pack.source_url;
}
