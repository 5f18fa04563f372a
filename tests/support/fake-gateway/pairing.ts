import { randomBytes, randomUUID } from "node:crypto";
import type { DeviceStore, Method, PairedDevice, PairingRequest } from "./host.ts";
import { pairingScope } from "./host.ts";
import { RpcError } from "./rpc-error.ts";
import { shape, text } from "./validators.ts";

export function createDeviceStore(): DeviceStore {
  return { paired: new Map(), pending: new Map() };
}

/** Approves a device, and adds the requested scopes to the scopes that it has. */
export function approveDevice(devices: DeviceStore, request: Omit<PairingRequest, "requestId" | "ts">): PairedDevice {
  const existing = devices.paired.get(request.deviceId);
  const device = {
    deviceId: request.deviceId,
    publicKey: request.publicKey,
    scopes: [...new Set([...(existing?.scopes ?? []), ...request.scopes])],
    token: existing?.token ?? randomBytes(16).toString("hex"),
  };
  devices.paired.set(device.deviceId, device);
  devices.pending.delete(device.deviceId);
  return device;
}

/** Returns the open request of a device, or creates one. */
export function requestPairing(devices: DeviceStore, request: Omit<PairingRequest, "requestId" | "ts">): PairingRequest {
  const open = devices.pending.get(request.deviceId) ?? { ...request, requestId: randomUUID(), ts: Date.now() };
  devices.pending.set(request.deviceId, open);
  return open;
}

function requirePendingRequest(devices: DeviceStore, requestId: string): PairingRequest {
  const found = [...devices.pending.values()].find((entry) => entry.requestId === requestId);
  if (found === undefined) throw new RpcError("unknown requestId");
  return found;
}

const byRequest = () => shape({ requestId: text() });

/** The methods that operators use to approve devices. */
export const deviceMethods: Record<string, Method> = {
  "device.pair.list": {
    params: () => shape({}),
    scope: pairingScope,
    run: ({ devices }) => ({
      pending: [...devices.pending.values()],
      paired: [...devices.paired.values()].map(({ token: _token, ...device }) => device),
    }),
  },
  "device.pair.approve": {
    params: byRequest,
    scope: pairingScope,
    run(host, { requestId }: { requestId: string }) {
      const { token: _token, ...device } = approveDevice(host.devices, requirePendingRequest(host.devices, requestId));
      host.broadcast("device.pair.resolved", { requestId, deviceId: device.deviceId, decision: "approved", ts: Date.now() });
      return { requestId, device };
    },
  },
  "device.pair.reject": {
    params: byRequest,
    scope: pairingScope,
    run(host, { requestId }: { requestId: string }) {
      const { deviceId } = requirePendingRequest(host.devices, requestId);
      host.devices.pending.delete(deviceId);
      host.broadcast("device.pair.resolved", { requestId, deviceId, decision: "rejected", ts: Date.now() });
      return { requestId, deviceId };
    },
  },
};
