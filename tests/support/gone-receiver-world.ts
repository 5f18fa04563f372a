import { openServerWorld, type ServerWorld } from "./postgres-world.ts";
import { reply, startReceiver } from "./receiver.ts";
import type { WorldOptions } from "./world.ts";

/** Opens a world on a PostgreSQL server, and a receiver that answers every event with 410, so that all deliveries to it fail. */
export async function openGoneReceiverWorld(
  options: Omit<WorldOptions, "database"> = {},
): Promise<Pick<ServerWorld, "world" | "close"> & { receiver_url: string }> {
  const server = await openServerWorld(options);
  const receiver = await startReceiver();
  receiver.answer = reply(410, "");
  return {
    world: server.world,
    receiver_url: receiver.url,
    async close() {
      await server.close();
      await receiver.close();
    },
  };
}
