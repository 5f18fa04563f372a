import { and, asc, count, desc, eq, getTableColumns, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { requireOwnGateway } from "../gateway/target.ts";
import { largeObject, largeText, readShortened, toShortened } from "../lists/large-fields.ts";
import { countUnlessLast } from "../lists/page.ts";
import { Id, MAX_INTEGER, MAX_NAME, MAX_URL, QueryInteger, valueError, lazyObject } from "../values/wire.ts";
import { skill_packs } from "../schema/skill-pack.sql.ts";
import { selectSkillCards, type SkillCard, skillColumns, toSkillCard } from "./skill.ts";
import { marketplace_skills } from "../schema/skill.sql.ts";

/** The maximum number of skills in a list if the request has no limit. */
const MAX_CARDS = 5_000;
const MAX_LIMIT = 200;
const UNCATEGORIZED = "uncategorized";
const LARGE_SKILL_FIELDS = { description: largeText, source_label: largeText, metadata: largeObject };

const Label = z.string().trim().max(MAX_NAME).optional();

export const SkillsQuery = lazyObject(() => ({
  gateway_id: Id.optional().describe("Gateway for which `installed` is computed; when omitted, the organization's only gateway."),
  search: z.string().trim().max(MAX_URL).optional().describe("Text to find in any text or the URL of a skill, ignoring case."),
  category: Label.describe(`Category, ignoring case; \`${UNCATEGORIZED}\` for skills without one.`),
  risk: Label.describe(`Risk, ignoring case; \`${UNCATEGORIZED}\` for skills without one.`),
  pack_id: Id.optional().describe("Only skills of this pack."),
  limit: QueryInteger(1, MAX_LIMIT).optional().describe(`Maximum number of skills; when omitted, all skills up to ${MAX_CARDS}.`),
  offset: QueryInteger(0, MAX_INTEGER).optional().describe("Number of skills to skip; requires `limit`."),
})).refine(({ limit, offset }) => offset === undefined || limit !== undefined, {
  ...valueError("offset needs limit"),
  path: ["offset"],
});
export type SkillsQuery = z.infer<typeof SkillsQuery>;

/** The skill cards and, if the request has a limit, their position in the whole list. */
export interface SkillList {
  cards: SkillCard[];
  page: { total: number; limit: number; offset: number } | null;
}

/** Lists the marketplace of the active organization, by name. */
export async function listSkills(ctx: Context<Admin>, query: SkillsQuery): Promise<SkillList> {
  const { gateway_id, search, category, risk, pack_id, limit, offset = 0 } = query;
  if (gateway_id !== undefined) await requireOwnGateway(ctx, gateway_id);
  const pack_url = pack_id === undefined ? null : await getPackUrl(ctx, pack_id);
  const where = and(
    search ? matchesSearch(search) : undefined,
    category ? matchesLabel(marketplace_skills.category, category) : undefined,
    risk ? matchesLabel(marketplace_skills.risk, risk) : undefined,
    pack_url === null ? undefined : isInPack(pack_url),
  );
  const read = (limit: number, offset: number) =>
    readShortened(ctx, { fields: skillColumns, large: LARGE_SKILL_FIELDS, max_rows: limit }, (columns) =>
      selectSkillCards(ctx, where, gateway_id, columns as unknown as typeof skillColumns)
        .orderBy(asc(sql`lower(${marketplace_skills.name})`), desc(marketplace_skills.created_at), desc(marketplace_skills.id))
        .limit(limit)
        .offset(offset),
    );
  const toCard = (row: Awaited<ReturnType<typeof read>>[number]) => toShortened(row, toSkillCard);
  if (limit === undefined) return { cards: (await read(MAX_CARDS, 0)).map(toCard), page: null };
  const ownAndMatching = and(eq(marketplace_skills.organization_id, ctx.actor.active.organization_id), where);
  const counted = () => ctx.db.select({ total: count() }).from(marketplace_skills).where(ownAndMatching);
  const page = { limit, offset };
  const rows = await read(limit, offset);
  const total = await countUnlessLast(page, rows, async () => (await counted())[0]!.total);
  return { cards: rows.map(toCard), page: { ...page, total } };
}

/** Returns a condition on `marketplace_skills`: whether the skill's URL is the pack's URL or below it. */
export const isInPack = (pack_url: string): SQL | undefined =>
  or(eq(marketplace_skills.source_url, pack_url), sql`starts_with(${marketplace_skills}.source_url, ${`${pack_url}/`}::text)`);

/** Matches the search text literally: `%` and `_` are not wildcards. */
function matchesSearch(search: string): SQL | undefined {
  const { name, description, category, risk, source_label, source_url } = getTableColumns(marketplace_skills);
  const lowered = sql`lower(${search}::text)`;
  return or(
    ...[name, description, category, risk, source_label, source_url].map(
      (column) => sql`position(${lowered} in lower(${column})) > 0`,
    ),
  );
}

const matchesLabel = (column: (typeof marketplace_skills)["category" | "risk"], label: string): SQL =>
  label.toLowerCase() === UNCATEGORIZED
    ? sql`coalesce(trim(${column}), '') in ('', ${UNCATEGORIZED})`
    : sql`lower(trim(${column})) = lower(${label}::text)`;

async function getPackUrl(ctx: Context<Admin>, pack_id: string): Promise<string> {
  const [pack] = await ctx.db
    .select({ source_url: skill_packs.source_url })
    .from(skill_packs)
    .where(and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id)));
  if (!pack) throw notFound();
  return pack.source_url;
}
