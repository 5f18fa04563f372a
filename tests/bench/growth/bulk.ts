import type { Client } from "pg";

/** These tables get so few rows that their indexes are kept while they are filled. */
const KEPT_INDEXES = ["organizations", "users", "organization_members", "gateways", "boards", "board_webhooks"];

/** Runs inserts without triggers and foreign keys, and without the indexes of the tables, which are built again at the end. */
export async function fillBulk(client: Client, tables: readonly string[], inserts: readonly string[]): Promise<void> {
  const without = tables.filter((table) => !KEPT_INDEXES.includes(table));
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = any ($1::regclass[]) and not exists (select 1 from pg_constraint where conindid = indexrelid)`,
    [without],
  );
  await client.query("begin; set local session_replication_role = replica; set local maintenance_work_mem = '1GB'");
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  for (const insert of inserts) await client.query(insert);
  for (const { definition } of indexes) await client.query(definition);
  await client.query("commit");
  for (const table of tables) await client.query(`vacuum analyze ${table}`);
}
