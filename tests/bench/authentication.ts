import { hashToken, mintToken, tokenLookup, verifyToken } from "@board/core/agent/token";
import { agents } from "@board/core/schema/all-tables";
import { toKey } from "@board/core/values/seal";
import { sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { rate, round, type Row } from "./row.ts";
import { KEYS } from "./service.ts";

const COUNTS = [10, 1_000, 100_000];
const TRIES = 10;

/** An authenticated read with growing numbers of agents, compared with testing every stored hash. */
export async function benchAuthentication({
  db,
  get,
  count,
  gateway,
  board,
  lead,
  service,
  compareToFloor,
}: BenchEnvironment): Promise<Row[]> {
  const stored = await hashToken(mintToken());
  const start = performance.now();
  for (let n = 0; n < TRIES; n++) await verifyToken("x".repeat(43), stored);
  const scan_ms = (performance.now() - start) / TRIES;
  const pepper = toKey(KEYS.TOKEN_PEPPER);
  const headers = { "x-agent-token": lead.auth_token };
  const rows: Row[] = [];
  let present = 2;
  for (const wanted of COUNTS) {
    const missing = Array.from({ length: Math.max(0, wanted - present) }, () => tokenLookup(pepper, mintToken()));
    for (let at = 0; at < missing.length; at += 10_000)
      await db.execute(sql`insert into ${agents} (gateway_id, board_id, name, agent_token_hash, agent_token_lookup, last_seen_at, status)
        select ${gateway.id}, ${board.id}, 'agent ' || lookup, ${stored}, lookup, now(), 'online' from unnest(${sql.param(missing.slice(at, at + 10_000))}::text[]) as lookup`);
    present = Math.max(present, wanted);
    await db.execute(sql`vacuum analyze ${agents}`);
    const hit = await get("/api/v1/agent/healthz", headers);
    const request = () => fetch(`${service.url}/api/v1/agent/healthz`, { headers });
    rows.push({
      what: `agent read at ${wanted.toLocaleString("en")} agents`,
      figure: rate(hit),
      target: "the same at any number",
      baseline: `PBKDF2 scan, ${scan_ms.toFixed(0)} ms an agent: ${round((scan_ms * wanted) / 1000)} s a miss`,
      ratio: `${Math.round((scan_ms * wanted) / hit.p50_ms).toLocaleString("en")}x`,
      ...(await compareToFloor(hit, request)),
      statements: await count(request),
    });
  }
  await db.delete(agents).where(sql`${agents.name} like 'agent %'`);
  return rows;
}
