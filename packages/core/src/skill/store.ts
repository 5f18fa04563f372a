import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import type { Collected } from "./collect.ts";
import type { FoundSkill } from "./found.ts";
import { inPack } from "./marketplace.ts";
import { skill_packs } from "./pack.sql.ts";
import { endRun, failRun, type PackRow, type PackSynced } from "./run.ts";
import { marketplace_skills } from "./skill.sql.ts";
import { differs, sent } from "./upsert.ts";

/** Rows in one statement, well below the number of parameters that one may have. */
const BATCH = 1_000;
const COLUMNS = ["name", "description", "category", "risk", "source_label", "metadata"];

/**
 * Brings the marketplace to what a pack has, and ends the run, in the caller's transaction. Skills are told by their urls;
 * none is ever removed: one that its pack has no more is marked as vanished, until it is back. Null when the pack was
 * changed or removed while it was read: then nothing is stored, and the run fails.
 */
export async function storeCollected(
  ctx: Context,
  { run_id, pack }: { run_id: string; pack: PackRow },
  { skills, warnings }: Collected,
): Promise<PackSynced | null> {
  const { id: pack_id, source_url, branch } = pack;
  const same = and(eq(skill_packs.id, pack_id), eq(skill_packs.source_url, source_url), eq(skill_packs.branch, branch));
  const [held] = await ctx.db.select({ id: skill_packs.id }).from(skill_packs).where(same).for("share");
  if (!held) {
    await failRun(ctx, run_id, "The pack was changed while it was read; sync it again");
    return null;
  }
  let [created, updated] = [0, 0];
  // In one order everywhere, so that two writers of the same rows cannot wait for each other.
  const ordered = skills.toSorted((a, b) => (a.source_url < b.source_url ? -1 : 1));
  for (let at = 0; at < ordered.length; at += BATCH) {
    const changed = await upsert(ctx, pack.organization_id, ordered.slice(at, at + BATCH));
    created += changed.filter((row) => row.created).length;
    updated += changed.filter((row) => !row.created).length;
  }
  const vanished = await markVanished(ctx, pack, ordered);
  const result = {
    synced: skills.length,
    created,
    updated,
    warnings: vanished === 0 ? warnings : [...warnings, `No longer in the pack, and marked as vanished: ${vanished} skills`],
  };
  await endRun(ctx, run_id, { status: "done", ...result });
  return { ok: true, pack_id, ...result };
}

/** The rows that are new or differ from what was there. */
function upsert(ctx: Context, organization_id: string, skills: readonly FoundSkill[]): Promise<{ created: boolean }[]> {
  return (
    ctx.db
      .insert(marketplace_skills)
      .values(skills.map((skill) => ({ ...skill, organization_id })))
      .onConflictDoUpdate({
        target: [marketplace_skills.organization_id, marketplace_skills.source_url],
        set: { ...sent(COLUMNS), updated_at: sql`now()` },
        setWhere: differs(marketplace_skills, COLUMNS),
      })
      // A row that this statement made was never locked or replaced.
      .returning({ created: sql<boolean>`${marketplace_skills}.xmax = 0` })
  );
}

/** Marks what earlier syncs found and this one did not; returns how many skills that is true of since now. */
async function markVanished(ctx: Context, pack: PackRow, found: readonly FoundSkill[]): Promise<number> {
  const urls = found.map(({ source_url }) => source_url);
  const marked = await ctx.db
    .update(marketplace_skills)
    .set({ metadata: sql`${marketplace_skills.metadata} || '{"vanished": true}'::jsonb` })
    .where(
      and(
        eq(marketplace_skills.organization_id, pack.organization_id),
        inPack(pack.source_url),
        sql`${marketplace_skills.metadata} ? 'discovery_mode'`,
        sql`not ${marketplace_skills.metadata} ? 'vanished'`,
        sql`not ${marketplace_skills.source_url} = any(${sql.param(urls)}::text[])`,
      ),
    )
    .returning({ id: marketplace_skills.id });
  return marked.length;
}
