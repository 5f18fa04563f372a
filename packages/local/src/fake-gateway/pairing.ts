import { randomBytes, randomUUID } from "node:crypto";
import type { Method } from "./host.ts";
import { pairing } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { shape, text } from "./schema.ts";

export interface PairedDevice {
  deviceId: string;
  publicKey: string;
  scopes: readonly string[];
  /** May stand for the shared token once the device is approved. */
  token: string;
}

export interface PairingRequest {
  requestId: string;
  deviceId: string;
  publicKey: string;
  scopes: readonly string[];
  ts: number;
}

export interface DeviceStore {
  paired: Map<string, PairedDevice>;
  /** By device: asking again before an answer is the same request. */
  pending: Map<string, PairingRequest>;
}

export function createDevices(): DeviceStore {
  return { paired: new Map(), pending: new Map() };
}

/** Approves a device, with the scopes it has and those it asks for. */
export function approve(devices: DeviceStore, asked: Omit<PairingRequest, "requestId" | "ts">): PairedDevice {
  const known = devices.paired.get(asked.deviceId);
  const device = {
    deviceId: asked.deviceId,
    publicKey: asked.publicKey,
    scopes: [...new Set([...(known?.scopes ?? []), ...asked.scopes])],
    token: known?.token ?? randomBytes(16).toString("hex"),
  };
  devices.paired.set(device.deviceId, device);
  devices.pending.delete(device.deviceId);
  return device;
}

/** The open request of a device, a new one when there is none. */
export function request(devices: DeviceStore, asked: Omit<PairingRequest, "requestId" | "ts">): PairingRequest {
  const open = devices.pending.get(asked.deviceId) ?? { ...asked, requestId: randomUUID(), ts: Date.now() };
  devices.pending.set(asked.deviceId, open);
  return open;
}

function pendingById(devices: DeviceStore, requestId: string): PairingRequest {
  const found = [...devices.pending.values()].find((entry) => entry.requestId === requestId);
  if (found === undefined) throw new Refusal("unknown requestId");
  return found;
}

const byRequest = () => shape({ requestId: text() });

/** What an operator's tools use to let devices in. */
export const deviceMethods: Record<string, Method> = {
  "device.pair.list": {
    params: () => shape({}),
    scope: pairing,
    run: ({ devices }) => ({
      pending: [...devices.pending.values()],
      paired: [...devices.paired.values()].map(({ token: _token, ...device }) => device),
    }),
  },
  "device.pair.approve": {
    params: byRequest,
    scope: pairing,
    run(host, { requestId }: { requestId: string }) {
      const { token: _token, ...device } = approve(host.devices, pendingById(host.devices, requestId));
      host.broadcast("device.pair.resolved", { requestId, deviceId: device.deviceId, decision: "approved", ts: Date.now() });
      return { requestId, device };
    },
  },
  "device.pair.reject": {
    params: byRequest,
    scope: pairing,
    run(host, { requestId }: { requestId: string }) {
      const { deviceId } = pendingById(host.devices, requestId);
      host.devices.pending.delete(deviceId);
      host.broadcast("device.pair.resolved", { requestId, deviceId, decision: "rejected", ts: Date.now() });
      return { requestId, deviceId };
    },
  },
};
