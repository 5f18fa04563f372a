/** The client for hosts, and hosts to connect to. Everything started here is closed when the test ends. */
import type { AddressInfo, Server } from "node:net";
import { expect, onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type Gateways, type GatewayTarget } from "../../packages/core/src/context/gateways.ts";
import { GatewayError } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { createDeviceKey, loadDevice } from "../../packages/openclaw/src/wire/device.ts";
import { createGateways, type GatewaysOptions } from "../../packages/openclaw/src/wire/websocket.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";

export const TOKEN = "shared-token-0815";
export const device = loadDevice(createDeviceKey());

export function createClient(options: Partial<GatewaysOptions> = {}): Gateways {
  const settings = { allowed_hosts: [], private_addresses_allowed: true };
  const gateways = createGateways({ device: async () => device, settings, ...options });
  onTestFinished(() => gateways.close());
  return gateways;
}

export function targetOf(url: string): GatewayTarget {
  return { url, token: TOKEN, disable_device_pairing: false, allow_insecure_tls: false };
}

/** Starts a host and a client for it. */
export async function startHostWithClient(
  options: Partial<Parameters<typeof startFakeGateway>[0]>,
  client: Partial<GatewaysOptions> = {},
): Promise<{ gateway: FakeGateway; gateways: Gateways; target: GatewayTarget }> {
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  onTestFinished(() => gateway.close());
  return { gateway, gateways: createClient(client), target: targetOf(gateway.url) };
}

/** Expects a call to fail with a `GatewayError`, and returns the error. */
export async function expectGatewayError(call: Promise<unknown>): Promise<GatewayError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

interface Frame {
  id: string;
  method: string;
}
type Answer = (socket: WebSocket, frame: Frame) => void;

/** Starts a host that accepts every connection and answers as the test decides. `seen` collects the urls of the connections. */
export async function startScriptedHost(
  answer: Answer,
  { payload = {}, seen = [] }: { payload?: unknown; seen?: string[] } = {},
) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const opened = acceptAll(server, answer, payload, seen);
  return { opened, target: targetOf(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}

/** Accepts every connection with `payload` as the hello. Returns a function that returns the number of connections so far. */
export function acceptAll(
  server: WebSocketServer,
  answer: Answer = () => {},
  payload: unknown = {},
  seen: string[] = [],
): () => number {
  let opened = 0;
  server.on("connection", (socket, request) => {
    opened += 1;
    seen.push(request.url ?? "");
    socket.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n" } }));
    socket.on("message", (data) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.method === "connect") socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload }));
      else answer(socket, frame);
    });
  });
  return () => opened;
}

/** Makes a server listen on a free port of loopback; returns the url. */
export async function listenOn(server: Server): Promise<string> {
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
