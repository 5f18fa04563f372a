import { and, eq, getTableColumns, lt } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context.ts";
import { Id, Instant } from "../wire.ts";
import { skill_pack_syncs, skill_packs } from "./pack.sql.ts";

const counts = {
  synced: z.int().describe("How many skills the pack has."),
  created: z.int().describe("How many of them are new in the marketplace."),
  updated: z.int().describe("How many of them were changed."),
  warnings: z.array(z.string()).describe("What could not be taken as it is."),
};

export const PackSynced = z
  .object({
    ok: z.literal(true).describe("The pack was read."),
    pack_id: Id.describe("Id of the pack."),
    ...counts,
  })
  .meta({ id: "SkillPackSyncResponse", description: "What a sync of a pack did." });
export type PackSynced = z.infer<typeof PackSynced>;

export const PackSyncRun = z
  .object({
    ok: z.boolean().describe("False once it has failed."),
    run_id: Id.describe("Id of the run."),
    pack_id: Id.describe("Id of the pack."),
    status: z.enum(["running", "done", "failed"]).describe("`running` until nothing more will happen."),
    ...counts,
    error: z.string().nullable().describe("Why it failed."),
    created_at: Instant.describe("When it began."),
    finished_at: Instant.nullable().describe("When it ended."),
  })
  .meta({ id: "SkillPackSyncRun", description: "A sync of a pack that goes on after its request." });
export type PackSyncRun = z.infer<typeof PackSyncRun>;

export type RunRow = typeof skill_pack_syncs.$inferSelect;
export type PackRow = typeof skill_packs.$inferSelect;

const KEEP_MS = 7 * 86_400_000;

const isOpen = (run_id: string) => and(eq(skill_pack_syncs.id, run_id), eq(skill_pack_syncs.status, "running"));

/** The run with its pack, while it is still to be done. */
export async function findOpenRun(ctx: Context, run_id: string): Promise<{ run: RunRow; pack: PackRow } | null> {
  const [found] = await ctx.db
    .select({ run: getTableColumns(skill_pack_syncs), pack: getTableColumns(skill_packs) })
    .from(skill_pack_syncs)
    .innerJoin(skill_packs, eq(skill_packs.id, skill_pack_syncs.pack_id))
    .where(isOpen(run_id));
  return found ?? null;
}

export async function endRun(
  ctx: Context,
  run_id: string,
  outcome: Pick<RunRow, "status"> & Partial<Pick<RunRow, "synced" | "created" | "updated" | "warnings" | "error">>,
): Promise<void> {
  await ctx.db
    .update(skill_pack_syncs)
    .set({ ...outcome, finished_at: ctx.now() })
    .where(isOpen(run_id));
}

export const failRun = (ctx: Context, run_id: string, error: string): Promise<void> =>
  endRun(ctx, run_id, { status: "failed", error });

/** Removes runs that nobody will ask for any more. */
export async function removeOldPackSyncs(ctx: Context): Promise<void> {
  await ctx.db.delete(skill_pack_syncs).where(lt(skill_pack_syncs.created_at, new Date(ctx.now().getTime() - KEEP_MS)));
}

export function toRun({ id, finished_at, created_at, ...row }: RunRow): PackSyncRun {
  return {
    ...row,
    ok: row.status !== "failed",
    run_id: id,
    created_at: created_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
  };
}
