import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import type { DiscoveredSkills } from "./discover.ts";
import type { DiscoveredSkill } from "./discovered-skill.ts";
import { isInPack } from "./marketplace.ts";
import { skill_packs } from "../schema/skill-pack.sql.ts";
import { endPackSync, failPackSync, type PackRow, type PackSynced } from "./pack-sync-run.ts";
import { marketplace_skills } from "../schema/skill.sql.ts";
import { isDistinctFromExcluded, excludedColumns } from "./upsert.ts";
import { chunk } from "../values/chunk.ts";

/** Rows per statement, well below the maximum number of parameters. */
const BATCH_ROWS = 1_000;
const COLUMNS = ["name", "description", "category", "risk", "source_label", "metadata"];

/**
 * Stores the discovered skills of a pack by URL and ends the run, in the caller's transaction. Skills that the pack no longer has
 * are marked as vanished, not removed. If the pack changed or was removed in the meantime, the run fails and null is returned.
 */
export async function storeSkills(
  ctx: Context,
  { run_id, pack }: { run_id: string; pack: PackRow },
  { skills, warnings }: DiscoveredSkills,
): Promise<PackSynced | null> {
  const { id: pack_id, source_url, branch } = pack;
  const isUnchanged = and(eq(skill_packs.id, pack_id), eq(skill_packs.source_url, source_url), eq(skill_packs.branch, branch));
  const [locked] = await ctx.db.select({ id: skill_packs.id }).from(skill_packs).where(isUnchanged).for("share");
  if (!locked) {
    await failPackSync(ctx, run_id, "The pack was changed while it was read; sync it again");
    return null;
  }
  let [created, updated] = [0, 0];
  // All writers lock the rows in the same order, so that they cannot deadlock.
  const ordered = skills.toSorted((a, b) => (a.source_url < b.source_url ? -1 : 1));
  for (const batch of chunk(ordered, BATCH_ROWS)) {
    const changed = await upsertSkills(ctx, pack.organization_id, batch);
    created += changed.filter((row) => row.created).length;
    updated += changed.filter((row) => !row.created).length;
  }
  const vanished = await markVanished(ctx, pack, ordered);
  const result = {
    synced: skills.length,
    created,
    updated,
    warnings:
      vanished === 0 ? warnings : [...warnings, `Marked as vanished because the pack no longer has them: ${vanished} skills`],
  };
  await endPackSync(ctx, run_id, { status: "done", ...result });
  return { ok: true, pack_id, ...result };
}

/** Inserts or updates skills, and returns the rows that are new or changed. */
function upsertSkills(
  ctx: Context,
  organization_id: string,
  skills: readonly DiscoveredSkill[],
): Promise<{ created: boolean }[]> {
  return (
    ctx.db
      .insert(marketplace_skills)
      .values(skills.map((skill) => ({ ...skill, organization_id })))
      .onConflictDoUpdate({
        target: [marketplace_skills.organization_id, marketplace_skills.source_url],
        set: { ...excludedColumns(COLUMNS), updated_at: sql`now()` },
        setWhere: isDistinctFromExcluded(marketplace_skills, COLUMNS),
      })
      // PostgreSQL sets `xmax` only on updated rows, so 0 means that the row was inserted.
      .returning({ created: sql<boolean>`${marketplace_skills}.xmax = 0` })
  );
}

/** Marks skills that an earlier sync discovered but this one did not. Returns how many were newly marked. */
async function markVanished(ctx: Context, pack: PackRow, discovered: readonly DiscoveredSkill[]): Promise<number> {
  const urls = discovered.map(({ source_url }) => source_url);
  const marked = await ctx.db
    .update(marketplace_skills)
    .set({ metadata: sql`${marketplace_skills.metadata} || '{"vanished": true}'::jsonb` })
    .where(
      and(
        eq(marketplace_skills.organization_id, pack.organization_id),
        isInPack(pack.source_url),
        sql`${marketplace_skills.metadata} ? 'discovery_mode'`,
        sql`not ${marketplace_skills.metadata} ? 'vanished'`,
        sql`not ${marketplace_skills.source_url} = any(${sql.param(urls)}::text[])`,
      ),
    )
    .returning({ id: marketplace_skills.id });
  return marked.length;
}
