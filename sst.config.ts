// oxlint-disable-next-line typescript/triple-slash-reference -- global types, which an import would turn into a module
/// <reference path="./.sst/platform/config.d.ts" />

// The CLI refuses top-level imports in this file, so both halves import what they need themselves.
export default $config({
  async app({ stage }) {
    const { appOf } = await import("./infra/stage.ts");
    return appOf(stage);
  },
  async run() {
    const { api } = await import("./infra/api.ts");
    const { domainTarget } = await import("./infra/api-gateway.ts");
    const { bus } = await import("./infra/events.ts");
    const { streams } = await import("./infra/stream.ts");
    await import("./infra/deliveries.ts");
    await import("./infra/syncs.ts");
    await import("./infra/schedules.ts");
    await import("./infra/alarms.ts");
    await import("./infra/dashboard.ts");
    return { url: api.url, streams: streams.url, bus: bus.name, ...(domainTarget ? { domainTarget } : {}) };
  },
});
