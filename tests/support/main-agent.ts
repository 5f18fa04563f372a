import { tokenLookup } from "@board/core/agent/token";
import { agents } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import type { World } from "./world.ts";

/** Gives a gateway's main agent a known token, since only the host gets its real token. */
export async function actAsMainAgent(world: World, gateway_id: string): Promise<{ id: string; token: string }> {
  const token = `main agent of ${gateway_id}`.replaceAll(" ", "-");
  const [row] = await world.db
    .update(agents)
    .set({ agent_token_lookup: tokenLookup(world.settings.token_pepper, token) })
    .where(and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id)))
    .returning();
  return { id: row!.id, token };
}
