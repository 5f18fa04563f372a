/** The default ports of PgBouncer and of Supabase's transaction pooler. */
const POOLER_PORTS: readonly string[] = ["6432", "6543"];

/**
 * Checks whether a database URL probably leads to a connection pooler. A pooler may run each transaction in a different session, so
 * LISTEN and session locks do not work through it.
 */
export function looksPooled(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname, port, searchParams } = new URL(url);
  return hostname.split(".")[0]!.endsWith("-pooler") || POOLER_PORTS.includes(port) || searchParams.get("pgbouncer") === "true";
}
