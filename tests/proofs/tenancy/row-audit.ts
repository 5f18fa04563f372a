import { rowsOf } from "@board/core/db/database";
import type { Db } from "@board/core/context/db";
import { sql } from "drizzle-orm";

/** Records the rows that a transaction writes, before and after, including cascades. */
export interface RowAudit {
  /** Returns the writes of the open transaction in order. Each text begins with the table and the kind of write. */
  read: (transaction: Db) => Promise<string[]>;
  /** Removes values that differ in every run: times, random values and ids of new rows. */
  normalize: (text: string) => string;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const NONDETERMINISTIC: readonly (readonly [RegExp, string])[] = [
  // The marker of a fence around external data in a message.
  [/(BEGIN|END) ([A-Z ]+) [0-9a-f]+/g, "$1 $2 (marker)"],
  // Sealed values have a random nonce, also inside the payload of a job.
  [/\\\\x[0-9a-f]+/g, "(bytes)"],
  [/pbkdf2_sha256\$[^"]+/g, "(hash)"],
  [/"(tx|seq|change_tx|change_seq)": ?"?\d+"?/g, '"$1": (order)'],
  [/\d{4}-\d\d-\d\d(?:T| )[\d:.]+(?:Z|[+-]\d\d(?::\d\d)?)?/g, "(time)"],
  [/^id: .*$/gm, "id: (cursor)"],
  [/"cursor":"[^"]*"/g, '"cursor":"(cursor)"'],
  // The bytes of an organization and of a webhook are added to a random one of their rows, which may not exist yet.
  [
    /(webhook_payload|organization_text)_usage (?:insert|update \{[^{}]*\}(?: ->)?) \{[^{}]*"organization_id": ("[^"]+")\}/g,
    "$1_usage of $2",
  ],
  [/webhook_usage (?:insert|update \{[^{}]*\}(?: ->)?) \{[^{}]*"webhook_id": ("[^"]+")[^{}]*\}/g, "webhook_usage of $1"],
  [/whsec_[\w+/]{43}=/g, "(secret)"],
  [/"duration_ms": ?\d+/g, '"duration_ms": (duration)'],
  // The words of a text in the same row; some are parts of new ids.
  [/"words": ?"(?:[^"\\\\]|\\\\.)*"/g, '"words": "(words)"'],
  // Tokens of 32, 43 and 47 characters, and digests of tokens.
  [/"(?![0-9a-f]{8}-)[\w-]{32,48}=?"/g, '"(token)"'],
  // A signed link in a command, which has a random id.
  [/link [\w-]+\.[\w-]+/g, "link (signed)"],
  // The beginning of a key, which is shown.
  [/"bk_[0-9A-Za-z]{6}"/g, '"(prefix)"'],
  [/[0-9a-f]{64}/g, "(digest)"],
  [/\d{13}/g, "(time)"],
];

/** Adds a trigger to every table of a database. The ids of existing rows stay in the texts. */
export async function installRowAudit(db: Db): Promise<RowAudit> {
  await db.execute(sql`create table row_audit (place bigint generated always as identity, written text not null)`);
  await db.execute(sql`
    create function row_audit() returns trigger language plpgsql as $$ begin
      insert into row_audit (written)
      values (concat_ws(' ', tg_table_name, lower(tg_op), to_jsonb(old)::text, case when old is not null then '->' end, to_jsonb(new)::text));
      return null;
    end $$`);
  const tables = rowsOf<{ name: string; has_id: boolean }>(
    await db.execute(sql`
      select t.table_name as name, c.column_name is not null as has_id from information_schema.tables t
      left join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name and c.column_name = 'id'
      where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and t.table_name <> 'row_audit'`),
  );
  const known = new Set<string>();
  for (const { name, has_id } of tables) {
    const table = sql.identifier(name);
    await db.execute(
      sql`create trigger row_audit after insert or update or delete on ${table} for each row execute function row_audit()`,
    );
    if (!has_id) continue;
    for (const { id } of rowsOf<{ id: string }>(await db.execute(sql`select id::text as id from ${table}`))) known.add(id);
  }
  return {
    read: async (transaction) =>
      rowsOf<{ written: string }>(await transaction.execute(sql`select written from row_audit order by place`)).map(
        ({ written }) => written,
      ),
    normalize: (text) =>
      NONDETERMINISTIC.reduce(
        (left, [pattern, name]) => left.replaceAll(pattern, name),
        text.replaceAll(UUID, (id) => (known.has(id) ? id : "(id)")),
      ),
  };
}
