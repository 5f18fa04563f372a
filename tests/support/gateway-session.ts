import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import type { Answer } from "./http.ts";
import { type Neighbours, TOKEN } from "./neighbours.ts";

export type Query = Record<string, string>;

/** The operations on sessions, by the owner at home unless a token says otherwise. `neighbours` are asked for at each call. */
export function sessionCalls(neighbours: () => Neighbours) {
  const call = (method: string, path: string, query: Query = {}, body?: unknown, token?: string): Promise<Answer> => {
    const { world, home } = neighbours();
    const by = { token: token ?? home.owner.token };
    const to = `/api/v1/gateway${path}?${new URLSearchParams(query)}`;
    return world.call(method, to, body === undefined ? by : { ...by, body });
  };
  const pathOf = (key: string) => `/sessions/${encodeURIComponent(key)}`;
  return {
    call,
    sessions: (query?: Query) => call("GET", "/sessions", query),
    one: (key: string, query?: Query) => call("GET", pathOf(key), query),
    history: (key: string, query?: Query) => call("GET", `${pathOf(key)}/history`, query),
    say: (key: string, body: unknown, query?: Query, token?: string) =>
      call("POST", `${pathOf(key)}/message`, query, body, token),
  };
}

/** A host that is meant by its address and token. */
export const at = ({ url }: { url: string }): Query => ({ gateway_url: url, gateway_token: TOKEN });

/** A host that gives the same text as the payload of every answer, and ends with the test. Returns its address. */
export async function startHostSaying(payload: string): Promise<string> {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, method } = JSON.parse(String(data)) as { id: string; method: string };
      const hello = JSON.stringify({ type: "hello-ok", protocol: 4, server: { version: "2026.9.6" } });
      socket.send(`{"type":"res","id":"${id}","ok":true,"payload":${method === "connect" ? hello : payload}}`);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.close();
  });
  return `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
}
