import type { Db } from "../context.ts";

/**
 * A query whose SQL is built once for each database handle and run with values for its placeholders. For the few that every
 * request runs: Drizzle takes longer to build such a text than PostgreSQL to answer it. (Given no name, since
 * prepare-often.ts decides what the server keeps.)
 *
 * @example
 * const byId = builtOnce((db) => db.select().from(tags).where(eq(tags.id, sql.placeholder("id"))));
 * await byId(ctx.db).execute({ id });
 */
export function builtOnce<Prepared>(build: (db: Db) => { prepare(name: string): Prepared }): (db: Db) => Prepared {
  const made = new WeakMap<Db, Prepared>();
  return (db) => {
    let prepared = made.get(db);
    if (prepared === undefined) made.set(db, (prepared = build(db).prepare("")));
    return prepared;
  };
}
