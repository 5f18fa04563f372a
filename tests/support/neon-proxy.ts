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

export interface NeonProxyOptions {
  port: number;
  host?: string;
  /** Called with the text of each statement that passes. */
  onStatement?(this: void, text: string): void;
}

export async function startNeonProxy(postgres: NeonProxyOptions): Promise<NeonProxy> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  server.on("connection", (socket) => {
    const frames = createWebSocketStream(socket);
    const upstream = connect({ port: postgres.port, host: postgres.host ?? "127.0.0.1", noDelay: true });
    if (postgres.onStatement) frames.on("data", statementReader(postgres.onStatement));
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

/**
 * Reads what a client sends in PostgreSQL's protocol, and tells of each statement: "Q" is a query; "P" sends one under a name,
 * which may be empty, and each "B" has the one of its name executed.
 */
function statementReader(tell: (text: string) => void): (chunk: Buffer) => void {
  let unread = Buffer.alloc(0);
  let started = false;
  const texts = new Map<string, string>();
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    // The first message has no type in front of its length.
    for (let head = started ? 1 : 0; unread.length >= head + 4; head = 1) {
      const end = head + unread.readUInt32BE(head);
      if (unread.length < end) return;
      const [type, body] = [started ? String.fromCharCode(unread[0]!) : "", unread.subarray(head + 4, end)];
      if (type === "Q") tell(textAt(body, 0));
      if (type === "P") texts.set(textAt(body, 0), textAt(body, body.indexOf(0) + 1));
      // In front of the statement's name there is the one of the portal.
      if (type === "B") tell(texts.get(textAt(body, body.indexOf(0) + 1)) ?? "");
      unread = unread.subarray(end);
      started = true;
    }
  };
}

const textAt = (body: Buffer, start: number) => body.toString("utf8", start, body.indexOf(0, start));
