/** A proxy to a PostgreSQL server that can cut, freeze and count, to show what a driver does with a lost connection. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createStatementReader } from "./statement-reader.ts";

export interface DatabaseProxy {
  readonly port: number;
  /** Cuts every connection when this many more statements were sent, before the last of them is answered. */
  cutAfter(statements: number): void;
  /** How many statements are left until the cut; null after the cut, and when no cut was requested. */
  readonly left: number | null;
  drop(): void;
  /** From now on nothing gets through, but connections stay open, as when a cable is pulled. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export async function startDatabaseProxy(to_port: number): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>();
  let left: number | null = null;
  let frozen = false;
  const drop = () => sockets.forEach((socket) => socket.destroy());
  const onStatement = () => {
    if (left === null || --left > 0) return;
    left = null;
    // The statement still reaches the server, but its answer does not reach the client.
    setImmediate(drop);
  };

  const server = createServer((near) => {
    const far = connect({ port: to_port, host: "127.0.0.1", noDelay: true });
    near.setNoDelay(true).on("data", createStatementReader(onStatement));
    near.pipe(far).pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      if (frozen) socket.pause();
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get left() {
      return left;
    },
    cutAfter: (statements) => void (left = statements),
    drop,
    freeze() {
      frozen = true;
      sockets.forEach((socket) => socket.pause());
    },
    thaw() {
      frozen = false;
      sockets.forEach((socket) => socket.resume());
    },
    async close() {
      server.close();
      drop();
      await once(server, "close");
    },
  };
}
