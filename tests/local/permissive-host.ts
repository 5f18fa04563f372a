import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

/** Starts a host that accepts every client, grants the given scopes and has a configurable clock. */
export async function startPermissiveHost(options: {
  scopes: string[];
  ahead_ms: number;
}): Promise<{ url: string; close(): Promise<void> }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  server.on("connection", (socket) => {
    const sendFrame = (frame: object) => socket.send(JSON.stringify(frame));
    const ts = Date.now() + options.ahead_ms;
    sendFrame({ type: "event", event: "connect.challenge", payload: { nonce: "nonce", ts } });
    socket.on("message", (data: Buffer) => {
      const { id } = JSON.parse(data.toString()) as { id: string };
      const payload = { protocol: 4, server: { version: "2026.5.7" }, auth: { role: "operator", scopes: options.scopes } };
      sendFrame({ type: "res", id, ok: true, payload });
    });
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
