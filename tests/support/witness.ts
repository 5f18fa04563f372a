import { rowsOf } from "@board/core/db/database";
import type { Db } from "@board/core/context";
import { sql } from "drizzle-orm";

/** Sees which rows a transaction writes, and what they were before and after: cascades too. */
export interface Witness {
  /** What the open transaction has written so far, in order; each text begins with the table and the kind of write. */
  read: (transaction: Db) => Promise<string[]>;
  /** A text without what differs from one time to the next: times, random values, ids of rows that were not there before. */
  withoutChance: (text: string) => string;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const CHANCE: readonly (readonly [RegExp, string])[] = [
  // Around what others wrote, in a message.
  [/(BEGIN|END) ([A-Z ]+) [0-9a-f]+/g, "$1 $2 (marker)"],
  // What is sealed has a random nonce, also inside the session of a job.
  [/\\\\x[0-9a-f]+/g, "(bytes)"],
  [/pbkdf2_sha256\$[^"]+/g, "(hash)"],
  [/"(tx|seq|change_tx|change_seq)": ?"?\d+"?/g, '"$1": (order)'],
  [/\d{4}-\d\d-\d\d(?:T| )[\d:.]+(?:Z|[+-]\d\d(?::\d\d)?)?/g, "(time)"],
  [/^id: .*$/gm, "id: (cursor)"],
  // Tokens of 32 and 43 characters, and digests of tokens.
  [/"(?![0-9a-f]{8}-)[\w-]{32,44}=?"/g, '"(token)"'],
  [/[0-9a-f]{64}/g, "(digest)"],
  [/\d{13}/g, "(time)"],
];

/** Puts a trigger on every table of a database; rows that are there when it is called are known by their ids from then on. */
export async function placeWitness(db: Db): Promise<Witness> {
  await db.execute(sql`create table witness (place bigint generated always as identity, written text not null)`);
  await db.execute(sql`
    create function witness() returns trigger language plpgsql as $$ begin
      insert into witness (written)
      values (concat_ws(' ', tg_table_name, lower(tg_op), to_jsonb(old)::text, case when old is not null then '->' end, to_jsonb(new)::text));
      return null;
    end $$`);
  const tables = rowsOf<{ name: string; has_id: boolean }>(
    await db.execute(sql`
      select t.table_name as name, c.column_name is not null as has_id from information_schema.tables t
      left join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name and c.column_name = 'id'
      where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and t.table_name <> 'witness'`),
  );
  const known = new Set<string>();
  for (const { name, has_id } of tables) {
    const table = sql.identifier(name);
    await db.execute(
      sql`create trigger witness after insert or update or delete on ${table} for each row execute function witness()`,
    );
    if (!has_id) continue;
    for (const { id } of rowsOf<{ id: string }>(await db.execute(sql`select id::text as id from ${table}`))) known.add(id);
  }
  return {
    read: async (transaction) =>
      rowsOf<{ written: string }>(await transaction.execute(sql`select written from witness order by place`)).map(
        ({ written }) => written,
      ),
    withoutChance: (text) =>
      CHANCE.reduce(
        (left, [pattern, name]) => left.replaceAll(pattern, name),
        text.replaceAll(UUID, (id) => (known.has(id) ? id : "(id)")),
      ),
  };
}
