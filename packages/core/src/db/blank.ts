import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/**
 * Whether a text has anything other than white space, as PostgreSQL defines it. The service stores no blank texts; this
 * leaves out imported ones. The comment feed is exact about Unicode spaces instead: see `isFeedComment`.
 */
export const isNotBlank = (text: SQLWrapper): SQL => sql`${text} ~ '\\S'`;
