import { and, asc, eq, gt } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { audit_chains, audit_events } from "../schema/audit.sql.ts";
import { hashOf } from "./chain.ts";

type ReadContext = Pick<Context, "db">;

/** The result of checking the chain of an organization. */
interface ChainResult {
  organization_id: string;
  /** How many entries have the right hash, up to the first problem. */
  verified: number;
  /** The first problem; null if the chain is complete and unchanged. */
  problem: string | null;
}

const BATCH = 1_000;

/** Checks the chains of all organizations. */
export async function* verifyChains({ db }: ReadContext): AsyncGenerator<ChainResult> {
  const chains = await db.select().from(audit_chains).orderBy(asc(audit_chains.organization_id));
  for (const chain of chains) yield await verifyChain({ db }, chain);
}

async function verifyChain({ db }: ReadContext, chain: typeof audit_chains.$inferSelect): Promise<ChainResult> {
  const { organization_id } = chain;
  let { removed_seq: seq, removed_hash: hash } = chain;
  const first = seq;
  const toResult = (problem: string | null): ChainResult => ({ organization_id, verified: seq - first, problem });
  for (;;) {
    const rows = await db
      .select()
      .from(audit_events)
      .where(and(eq(audit_events.organization_id, organization_id), gt(audit_events.seq, seq)))
      .orderBy(asc(audit_events.seq))
      .limit(BATCH);
    for (const row of rows) {
      if (row.seq !== seq + 1) return toResult(`Entry ${seq + 1} is missing.`);
      const expected = hashOf(hash, row);
      if (!Buffer.from(row.hash).equals(expected)) return toResult(`Entry ${row.seq} (${row.id}) was changed.`);
      [seq, hash] = [row.seq, row.hash];
    }
    if (rows.length < BATCH) break;
  }
  // `seq` may be greater than `chain.seq`, because entries may have been recorded since the chain was read.
  if (seq < chain.seq) return toResult(`The newest ${chain.seq - seq} entries are missing.`);
  return toResult(null);
}
