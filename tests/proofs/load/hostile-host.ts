/** Hosts of organization A that misbehave. They speak only as much of the protocol as an attack needs. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface Call {
  id: string;
  method: string;
}

/** Sends whatever the attack wants as the answer to a call. */
export type Answer = (socket: WebSocket, call: Call) => void;

const HELLO = {
  type: "hello-ok",
  protocol: 3,
  server: { version: "2026.2.9" },
  features: { methods: [], events: [] },
  policy: { maxPayload: 524_288 },
};

/** Starts a host that accepts every client and then answers with `answer`. Returns the host's url. */
export async function startHostileHost(answer: Answer, onConnected: (socket: WebSocket) => void = () => {}): Promise<string> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n" } }));
    socket.on("message", (data) => {
      const call = JSON.parse((data as Buffer).toString()) as Call;
      if (call.method !== "connect") return answer(socket, call);
      socket.send(toResponse(call, HELLO));
      onConnected(socket);
    });
  });
  await once(server, "listening");
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Creates a host that refuses connections until `listen` is called, so that it is registered quickly, and then never answers. */
export async function createSilentHost(): Promise<{ url: string; listen: () => Promise<void> }> {
  const server = createServer((socket) => socket.on("error", () => {}).resume());
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  server.close();
  return { url: `ws://127.0.0.1:${port}`, listen: async () => void (await listen(port)) };
}

export const toResponse = ({ id }: Call, payload: unknown) => JSON.stringify({ type: "res", id, ok: true, payload });

export const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
