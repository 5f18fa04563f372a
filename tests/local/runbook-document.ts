import { readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";

export const operatingDocument = readFileSync(path.resolve(import.meta.dirname, "../../docs/operating.md"), "utf8");

/** Returns the code blocks of a language in docs/operating.md, without their indentation. */
export function blocksOf(language: string): string[] {
  const blocks = [...operatingDocument.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)];
  return blocks
    .filter(([, , blockLanguage]) => blockLanguage === language)
    .map(([, indent = "", , text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** Returns the SQL of a runbook by its first comment. */
export function runbook(comment: string): string {
  const block = blocksOf("sql").find((candidate) => candidate.startsWith(`-- ${comment}\n`));
  if (!block) throw new Error(`docs/operating.md has no SQL "${comment}"`);
  return block;
}

/** Uses up transaction ids, as a long-running service does. */
export const consumeTransactionIds = (client: pg.Client, count: number) =>
  client.query(`do $$ begin
    create temporary table used (n int);
    for n in 1..${count} loop
      begin insert into used values (n); exception when others then null; end;
    end loop;
  end $$`);

/** Copies all rows unchanged into an empty database with the same tables, as a dump and its restore do. */
export async function copyRows(from: pg.Client, to: pg.Client): Promise<void> {
  const names = "select tablename from pg_tables where schemaname = 'public' order by tablename";
  const tables = (await from.query<{ tablename: string }>(names)).rows.map(({ tablename }) => pg.escapeIdentifier(tablename));
  // Foreign keys are not checked, so the order of the tables does not matter.
  await to.query("begin; set local session_replication_role = replica");
  for (const table of tables) {
    const { rows } = await from.query<{ all: string }>(
      `select coalesce(json_agg(entry), '[]')::text as all from ${table} as entry`,
    );
    const insert = `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1::json)`;
    await to.query(insert, [rows[0]!.all]);
  }
  await to.query("commit");
  const sequences = "select quote_ident(sequencename) as name, last_value from pg_sequences where schemaname = 'public'";
  for (const { name, last_value } of (await from.query<{ name: string; last_value: string | null }>(sequences)).rows)
    if (last_value !== null) await to.query("select setval($1, $2)", [name, last_value]);
}
