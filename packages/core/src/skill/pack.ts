import type { Context } from "../context.ts";
import { skill_packs } from "./pack.sql.ts";

/** Packs that a new personal organization starts with. */
const SEEDED = [
  { name: "Antigravity Awesome Skills", source_url: "https://github.com/sickn33/antigravity-awesome-skills" },
  { name: "AI Marketing Skills", source_url: "https://github.com/BrianRWagner/ai-marketing-skills" },
];

/** Registers the default packs of an organization; those it has stay as they are. */
export async function seedPacks(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db
    .insert(skill_packs)
    .values(SEEDED.map((pack) => ({ ...pack, organization_id })))
    .onConflictDoNothing();
}
