import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";

/** A database handle of any Drizzle PostgreSQL driver (PGlite, node-postgres, Neon over WebSocket), or an open transaction. */
export type Db = PgDatabase<PgQueryResultHKT>;
