import { readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";

export const operating = readFileSync(path.resolve(import.meta.dirname, "../../docs/operating.md"), "utf8");

/** The blocks of a language that docs/operating.md prints, without their indentation. */
export function blocksOf(language: string): string[] {
  const blocks = [...operating.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)];
  return blocks
    .filter(([, , own]) => own === language)
    .map(([, indent = "", , text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** The SQL of a runbook, found by the comment that it begins with. */
export function runbook(comment: string): string {
  const found = blocksOf("sql").find((block) => block.startsWith(`-- ${comment}\n`));
  if (!found) throw new Error(`docs/operating.md has no SQL "${comment}"`);
  return found;
}

/** Uses up transaction ids, as years of service do. */
export const useUpTransactions = (client: pg.Client, count: number) =>
  client.query(`do $$ begin
    create temporary table used (n int);
    for n in 1..${count} loop
      begin insert into used values (n); exception when others then null; end;
    end loop;
  end $$`);

/** Copies all rows of a database into an empty one with the same tables, as a dump and its restoration do: nothing of them changes. */
export async function copyRows(from: pg.Client, to: pg.Client): Promise<void> {
  const names = "select tablename from pg_tables where schemaname = 'public' order by tablename";
  const tables = (await from.query<{ tablename: string }>(names)).rows.map(({ tablename }) => pg.escapeIdentifier(tablename));
  // Foreign keys are not asked, so that tables may come in any order.
  await to.query("begin; set local session_replication_role = replica");
  for (const table of tables) {
    const { rows } = await from.query<{ all: string }>(`select coalesce(json_agg(one), '[]')::text as all from ${table} as one`);
    const insert = `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1::json)`;
    await to.query(insert, [rows[0]!.all]);
  }
  await to.query("commit");
  const sequences = "select quote_ident(sequencename) as name, last_value from pg_sequences where schemaname = 'public'";
  for (const { name, last_value } of (await from.query<{ name: string; last_value: string | null }>(sequences)).rows)
    if (last_value !== null) await to.query("select setval($1, $2)", [name, last_value]);
}
