/** A fake of Neon's proxy in front of a PostgreSQL server: it converts WebSocket frames to TCP and back. */
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createWebSocketStream, WebSocketServer } from "ws";
import { createStatementReader } from "./statement-reader.ts";

export interface NeonProxy {
  /** The address as `host:port/path`, for the driver's `wsProxy`. */
  readonly address: string;
  /** The number of open connections. */
  readonly connections: number;
  /** Cuts every connection abruptly, as happens while a sandbox is frozen. */
  drop(): void;
  stop(): Promise<void>;
}

interface NeonProxyOptions {
  port: number;
  host?: string;
  /** Called with the text of each statement. */
  onStatement?(this: void, text: string): void;
}

export async function startNeonProxy(postgres: NeonProxyOptions): Promise<NeonProxy> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  server.on("connection", (socket) => {
    const frames = createWebSocketStream(socket);
    const upstream = connect({ port: postgres.port, host: postgres.host ?? "127.0.0.1", noDelay: true });
    if (postgres.onStatement) frames.on("data", createStatementReader(postgres.onStatement));
    frames.pipe(upstream).pipe(frames);
    // When either side closes, the other side is closed.
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
