import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";

/** Tables of the resources whose writes accept If-Match. */
export type LockableTable = "agents" | "approvals" | "board_webhooks" | "boards" | "budgets" | "gateways" | "tags" | "tasks";

/** Locks a row until the transaction ends. The caller must have checked that the actor may see the row. */
export async function lockRow(ctx: Context, table: LockableTable, id: string): Promise<void> {
  await ctx.db.execute(sql`select 1 from ${sql.identifier(table)} where id = ${id} for no key update`);
}
