import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/**
 * Returns a condition: whether a text has a character that is not white space for PostgreSQL. The service stores no blank texts,
 * but imported rows may have some. The comment feed also treats Unicode spaces as blank: see `isFeedComment`.
 */
export const isNotBlank = (text: SQLWrapper): SQL => sql`${text} ~ '\\S'`;
