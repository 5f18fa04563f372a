import { subscription_deliveries, subscriptions } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import type { World } from "./world.ts";

/** Stores a subscription of a board with a delivery that failed, so that nothing is sent. */
export async function seedSubscription(world: World, board: { organization_id: string; board_id: string }) {
  const [subscription] = await world.db
    .insert(subscriptions)
    .values({
      organization_id: board.organization_id,
      board_id: board.board_id,
      url: "https://receiver.example.com/events",
      active: false,
      event_types: ["task.*"],
      format: "standard",
      secret_sealed: Buffer.from("x"),
    })
    .returning();
  const now = new Date();
  const [delivery] = await world.db
    .insert(subscription_deliveries)
    .values({
      created_at: now,
      subscription_id: subscription!.id,
      event_id: crypto.randomUUID(),
      event_type: "task.created",
      occurred_at: now,
      detail: {},
      tx: sql`pg_current_xact_id()`,
      seq: 1n,
      status: "failed",
    })
    .returning();
  return { subscription_id: subscription!.id, delivery_id: delivery!.id };
}
