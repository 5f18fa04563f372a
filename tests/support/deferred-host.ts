import type { Gateways } from "@board/core/context/gateways";
import { GatewayError } from "@board/openclaw/wire/gateway-error";

interface DeferredCall {
  answer(): void;
  fail(message: string): void;
}

/** Creates a host that answers chat.send only when the test decides. All other calls succeed at once. */
export function createDeferredHost() {
  const calls: DeferredCall[] = [];
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
    /** Waits for the call with this index, counted from 0. */
    async call(index: number): Promise<DeferredCall> {
      while (calls.length <= index) await arrived.promise;
      return calls[index]!;
    },
  };
}
