/** Stands in for Neon's edge in front of an ordinary PostgreSQL server: WebSocket frames in, TCP out, and back. */
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createWebSocketStream, WebSocketServer } from "ws";

export interface NeonProxy {
  /** `host:port/path`, for the driver's `wsProxy`. */
  readonly address: string;
  /** Connections open now. */
  readonly connections: number;
  /** Cuts every connection without a goodbye, as it looks to a sandbox that was frozen for too long. */
  drop(): void;
  stop(): Promise<void>;
}

export async function startNeonProxy(postgres: { port: number; host?: string }): Promise<NeonProxy> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  server.on("connection", (socket) => {
    const frames = createWebSocketStream(socket);
    const upstream = connect({ port: postgres.port, host: postgres.host ?? "127.0.0.1", noDelay: true });
    frames.pipe(upstream).pipe(frames);
    // Either side's end is the other's, however it came about.
    frames.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    upstream.on("error", () => socket.terminate()).on("close", () => socket.close());
  });
  await once(server, "listening");
  const drop = () => {
    for (const socket of server.clients) socket.terminate();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}/v2`,
    get connections() {
      return server.clients.size;
    },
    drop,
    stop: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        drop();
      }),
  };
}
