import type { Gateways } from "@board/core/gateway/client";
import { GatewayError } from "@board/core/gateway/client";

export interface HeldCall {
  answer(): void;
  fail(message: string): void;
}

/** A gateway host whose answers to chat.send wait until the test gives them; all other calls succeed at once. */
export function createHeldHost() {
  const calls: HeldCall[] = [];
  let arrived = Promise.withResolvers<void>();
  const gateways: Gateways = {
    hello: async () => ({
      protocol: 4,
      version: null,
      methods: [],
      events: [],
      scopes: null,
      clock_ahead_ms: null,
      max_payload: 1_000_000,
    }),
    async request(_target, method) {
      if (method !== "chat.send") return null;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      calls.push({ answer: () => resolve(null), fail: (message) => reject(new GatewayError(message, { code: "UNAVAILABLE" })) });
      arrived.resolve();
      arrived = Promise.withResolvers();
      return promise;
    },
    close: async () => {},
  };
  return {
    gateways,
    calls,
    /** The call of that number, counted from 0, once it has arrived. */
    async call(index: number): Promise<HeldCall> {
      while (calls.length <= index) await arrived.promise;
      return calls[index]!;
    },
  };
}
