// oxlint-disable-next-line typescript/triple-slash-reference -- global types, which an import would turn into a module
/// <reference path="./.sst/platform/config.d.ts" />

// SST does not allow top-level imports in this file, so each function imports what it needs.
export default $config({
  async app({ stage }) {
    const { appSettings } = await import("./infra/stage.ts");
    return appSettings(stage);
  },
  async run() {
    const { api } = await import("./infra/api.ts");
    const { domainTarget } = await import("./infra/api-gateway.ts");
    const { eventBus } = await import("./infra/event-bus.ts");
    const { streamFunction } = await import("./infra/stream.ts");
    await import("./infra/deliveries.ts");
    await import("./infra/syncs.ts");
    await import("./infra/probes.ts");
    await import("./infra/schedules.ts");
    await import("./infra/alarms.ts");
    await import("./infra/dashboard.ts");
    return { url: api.url, streams: streamFunction.url, bus: eventBus.name, ...(domainTarget ? { domainTarget } : {}) };
  },
});
