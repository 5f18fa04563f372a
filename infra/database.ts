import { databaseDirectUrl, databaseUrl } from "./secrets.ts";

/**
 * The Neon project is created by hand. Each stage is a branch with two URLs. This URL is the pooled one (its host has `-pooler`).
 */
export const pooledConnection = { DATABASE_URL: databaseUrl.value };

/** Migrations need a session lock, which does not work through a transaction pooler. */
export const directConnection = { DATABASE_URL: databaseDirectUrl.value };
