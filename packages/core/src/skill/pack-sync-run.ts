import { and, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { truncatable } from "../lists/large-fields.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { skill_pack_syncs, skill_packs } from "../schema/skill-pack.sql.ts";

const counts = {
  synced: z.int().describe("Number of skills in the pack."),
  created: z.int().describe("Number of skills that are new in the marketplace."),
  updated: z.int().describe("Number of skills that changed."),
  warnings: z.array(z.string()).describe("Problems of the pack that did not stop the sync."),
  ...truncatable,
};

export const PackSynced = lazyObject(() => ({
  ok: z.literal(true).describe("The pack was read."),
  pack_id: Id.describe("Id of the pack."),
  ...counts,
})).meta({ id: "SkillPackSyncResponse", description: "The result of a sync of a pack." });
export type PackSynced = z.infer<typeof PackSynced>;

export const PackSyncRun = lazyObject(() => ({
  ok: z.boolean().describe("False when the run has failed."),
  run_id: Id.describe("Id of the run."),
  pack_id: Id.describe("Id of the pack."),
  status: z.enum(["running", "done", "failed"]).describe("`running` until the run has ended."),
  ...counts,
  error: z.string().nullable().describe("Why the run failed."),
  created_at: Instant.describe("When the run started."),
  finished_at: Instant.nullable().describe("When the run ended."),
})).meta({ id: "SkillPackSyncRun", description: "A sync of a pack that runs after its request." });
export type PackSyncRun = z.infer<typeof PackSyncRun>;

export type PackSyncRow = typeof skill_pack_syncs.$inferSelect;
export type PackRow = typeof skill_packs.$inferSelect;

const isOpen = (run_id: string) => and(eq(skill_pack_syncs.id, run_id), eq(skill_pack_syncs.status, "running"));

/** Finds a running run with its pack. Returns null if the run has ended. */
export async function findOpenPackSync(ctx: Context, run_id: string): Promise<{ run: PackSyncRow; pack: PackRow } | null> {
  const [row] = await ctx.db
    .select({ run: getTableColumns(skill_pack_syncs), pack: getTableColumns(skill_packs) })
    .from(skill_pack_syncs)
    .innerJoin(skill_packs, eq(skill_packs.id, skill_pack_syncs.pack_id))
    .where(isOpen(run_id));
  return row ?? null;
}

export async function endPackSync(
  ctx: Context,
  run_id: string,
  outcome: Pick<PackSyncRow, "status"> & Partial<Pick<PackSyncRow, "synced" | "created" | "updated" | "warnings" | "error">>,
): Promise<void> {
  await ctx.db
    .update(skill_pack_syncs)
    .set({ ...outcome, finished_at: ctx.now() })
    .where(isOpen(run_id));
}

export const failPackSync = (ctx: Context, run_id: string, error: string): Promise<void> =>
  endPackSync(ctx, run_id, { status: "failed", error });

export function toPackSyncRun({ id, finished_at, created_at, ...row }: PackSyncRow): PackSyncRun {
  return {
    ...row,
    ok: row.status !== "failed",
    run_id: id,
    created_at: created_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
  };
}
