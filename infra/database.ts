import { databaseDirectUrl, databaseUrl } from "./secrets.ts";

/** The Neon project is made outside; a stage is a branch of it, known by its two URLs. This one is pooled (`-pooler` host). */
export const connection = { DATABASE_URL: databaseUrl.value };

/** Migrations hold a session lock, which a transaction pooler would lose between statements. */
export const directConnection = { DATABASE_URL: databaseDirectUrl.value };
