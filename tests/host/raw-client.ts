/** A WebSocket client that is independent of the service's own: tests send each frame with it. It is closed after the test. */
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createDeviceKey, loadDevice } from "../../packages/openclaw/src/wire/device.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";

const TOKEN = "fake-token-1";
const SCOPES = ["operator.read", "operator.admin", "operator.approvals", "operator.pairing"];
const device = loadDevice(createDeviceKey());

interface Answer {
  ok: boolean;
  payload: unknown;
  error: { code: string; message: string; details?: unknown };
}

export async function startHost(options: Partial<Parameters<typeof startFakeGateway>[0]>): Promise<FakeGateway> {
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** Opens a client and completes the handshake. */
export async function connectClient(gateway: FakeGateway, values: Parameters<typeof connectParams>[0] = {}) {
  const peer = await openClient(gateway);
  await peer.next();
  const { error } = await peer.request("connect", connectParams({ nonce: peer.nonce(), ...values }));
  expect(error).toBeUndefined();
  await peer.next();
  return peer;
}

/** Returns valid params of connect, changed by `values`. */
export function connectParams(values: {
  nonce?: string | null;
  token?: string | null;
  device?: boolean;
  scopes?: string[];
  signed_at?: number;
  signed_token?: string;
  extra?: object;
}): object {
  const { nonce = null, token = TOKEN, scopes = SCOPES, signed_at = Date.now() } = values;
  const claim = { client_id: "gateway-client", client_mode: "backend", role: "operator", scopes, signed_at, nonce };
  const signature = device.sign({ ...claim, token: values.signed_token ?? token });
  const identity = {
    id: device.id,
    publicKey: device.public_key,
    signature,
    signedAt: signed_at,
    ...(nonce === null ? {} : { nonce }),
  };
  return {
    minProtocol: 3,
    maxProtocol: 4,
    role: "operator",
    scopes,
    client: { id: "gateway-client", version: "1.0.0", platform: "linux", mode: "backend" },
    ...(values.device === false ? {} : { device: identity }),
    ...(token === null ? {} : { auth: { token } }),
    ...values.extra,
  };
}

/** Opens a client without a handshake. It keeps received frames until they are requested. */
export async function openClient(gateway: FakeGateway, origin?: string) {
  const socket = new WebSocket(gateway.url, origin === undefined ? {} : { origin });
  onTestFinished(() => socket.terminate());
  const frames: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  let nonce: string | null = null;
  const wake = (): void => {
    for (const check of Array.from(waiting)) check();
  };
  socket.on("message", (data) => {
    const frame = JSON.parse(data.toString()) as { event?: string; payload?: { nonce: string } };
    if (frame.event === "connect.challenge") nonce = frame.payload?.nonce ?? null;
    frames.push({ ...frame });
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => {
      resolve({ code, reason: reason.toString() });
      wake();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("open", resolve);
    socket.on("error", reject);
  });
  function waitForFrame(wanted: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const position = frames.findIndex(wanted);
        if (position === -1 && socket.readyState !== WebSocket.CLOSED) return;
        waiting.delete(check);
        const [frame] = position === -1 ? [] : frames.splice(position, 1);
        if (frame !== undefined) resolve(frame);
        else void closed.then(({ code }) => reject(new Error(`closed ${code}`)));
      };
      waiting.add(check);
      check();
    });
  }
  const answer = async (id: string): Promise<Answer> => (await waitForFrame((frame) => frame.id === id)) as unknown as Answer;
  let count = 0;
  const request = (method: string, params: object): Promise<Answer> => {
    count += 1;
    socket.send(JSON.stringify({ type: "req", id: `r${count}`, method, params }));
    return answer(`r${count}`);
  };
  return {
    closed,
    answer,
    request,
    nonce: () => nonce,
    send: (frame: object) => socket.send(JSON.stringify(frame)),
    next: () => waitForFrame(() => true),
    event: (name: string) => waitForFrame((frame) => frame.event === name),
    config: async () => (await request("config.get", {})).payload as { hash: string; config: Record<string, unknown> },
  };
}
