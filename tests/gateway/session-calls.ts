import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import type { Answer } from "../support/http.ts";
import { type TwoOrganizations, TOKEN } from "./two-organizations.ts";

export type Query = Record<string, string>;

/**
 * Returns functions that call the session operations, as the owner of the home organization unless a token is given.
 * `neighbours` is evaluated at each call.
 */
export function createSessionCalls(neighbours: () => TwoOrganizations) {
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

/** Returns the query that selects a host by its address and token. */
export const targetQuery = ({ url }: { url: string }): Query => ({ gateway_url: url, gateway_token: TOKEN });

/** Starts a host that sends the same text as the payload of every response until the test ends. Returns its address. */
export async function startFixedAnswerHost(payload: string): Promise<string> {
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
