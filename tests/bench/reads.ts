import { boards } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { rate, type Row } from "./row.ts";

/** Measures reading the first page of boards, as a person and as an agent. */
export async function benchReads({
  db,
  get,
  count,
  compareToBaseline,
  service,
  authorization,
  lead,
  compareToFloor,
}: BenchEnvironment): Promise<Row[]> {
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select organization_id, gateway_id, 'Board ' || n, 'board-' || n, 'Bench' from ${boards}, generate_series(1, 500) as n where slug = 'bench'`);
  await db.execute(sql`vacuum analyze ${boards}`);
  const row = async (what: string, target: string, path: string, headers: Record<string, string>): Promise<Row> => {
    await get(path, headers, 500);
    const figures = await get(path, headers);
    const request = () => fetch(service.url + path, { headers });
    const floor = await compareToFloor(figures, request);
    return { what, figure: rate(figures), target, ...compareToBaseline(figures), ...floor, statements: await count(request) };
  };
  const rows = [
    await row("list boards, 20 of 500", "1,500/s", "/api/v1/boards?limit=20", { authorization }),
    await row("an agent's boards", "", "/api/v1/agent/boards", { "x-agent-token": lead.auth_token }),
  ];
  await db.delete(boards).where(sql`${boards.slug} like 'board-%'`);
  return rows;
}
