/** A fake of Neon's proxy in front of a PostgreSQL server: it converts WebSocket frames to TCP and back. */
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createWebSocketStream, WebSocketServer } from "ws";

export interface NeonProxy {
  /** The address as `host:port/path`, for the driver's `wsProxy`. */
  readonly address: string;
  /** The number of open connections. */
  readonly connections: number;
  /** Cuts every connection abruptly, as happens while a sandbox is frozen. */
  drop(): void;
  stop(): Promise<void>;
}

export interface NeonProxyOptions {
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
    if (postgres.onStatement) frames.on("data", statementReader(postgres.onStatement));
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

/**
 * Reads a client's messages in PostgreSQL's protocol and reports each statement: "Q" is a query, "P" prepares a statement
 * under a name, which may be empty, and "B" executes the statement of that name.
 */
function statementReader(report: (text: string) => void): (chunk: Buffer) => void {
  let unread = Buffer.alloc(0);
  let started = false;
  const texts = new Map<string, string>();
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    // The first message has no type before its length.
    for (let head = started ? 1 : 0; unread.length >= head + 4; head = 1) {
      const end = head + unread.readUInt32BE(head);
      if (unread.length < end) return;
      const [type, body] = [started ? String.fromCharCode(unread[0]!) : "", unread.subarray(head + 4, end)];
      if (type === "Q") report(textAt(body, 0));
      if (type === "P") texts.set(textAt(body, 0), textAt(body, body.indexOf(0) + 1));
      // The name of the portal precedes the name of the statement.
      if (type === "B") report(texts.get(textAt(body, body.indexOf(0) + 1)) ?? "");
      unread = unread.subarray(end);
      started = true;
    }
  };
}

const textAt = (body: Buffer, start: number) => body.toString("utf8", start, body.indexOf(0, start));
