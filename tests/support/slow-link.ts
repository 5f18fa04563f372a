/** A link to a server on loopback that is as slow as one to another place: every byte arrives late, in both directions. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface SlowLink {
  port: number;
  /** Connections so far. */
  opened(): number;
  close(): Promise<void>;
}

/** `round_trip_ms` is what a question and its answer take in all; as much again passes before a new connection carries anything. */
export async function startSlowLink(to_port: number, round_trip_ms: number): Promise<SlowLink> {
  const sockets = new Set<Socket>();
  let opened = 0;
  const server = createServer((near) => {
    opened += 1;
    const far = connect(to_port, "127.0.0.1");
    const ready_at = performance.now() + round_trip_ms;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      // Timers of one length fire in the order in which they were set, so that no byte overtakes another.
      const late = (work: () => void) => setTimeout(work, Math.max(round_trip_ms / 2, ready_at - performance.now()));
      from.on("data", (bytes) => void late(() => to.write(bytes)));
      from.on("end", () => void late(() => to.end()));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    opened: () => opened,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
