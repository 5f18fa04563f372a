import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";

/** Tables of the resources whose writes may be conditional. */
export type LockableTable = "agents" | "approvals" | "board_webhooks" | "boards" | "gateways" | "tags" | "tasks";

/** Locks a row that the caller may see against other changes until the transaction ends. */
export async function lockRow(ctx: Context, table: LockableTable, id: string): Promise<void> {
  await ctx.db.execute(sql`select 1 from ${sql.identifier(table)} where id = ${id} for no key update`);
}
