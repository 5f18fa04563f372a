/** A proxy to a server on loopback that delays every byte in both directions, like a remote server. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface LatencyProxy {
  port: number;
  /** The number of connections so far. */
  opened(): number;
  close(): Promise<void>;
}

/** Starts the proxy. `round_trip_ms` is the delay of a request and its answer. A new connection takes one more round trip. */
export async function startLatencyProxy(to_port: number, round_trip_ms: number): Promise<LatencyProxy> {
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
      // Timers of equal length fire in the order of their creation, so bytes stay in order.
      const delay = (work: () => void) => setTimeout(work, Math.max(round_trip_ms / 2, ready_at - performance.now()));
      from.on("data", (bytes) => void delay(() => to.write(bytes)));
      from.on("end", () => void delay(() => to.end()));
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
