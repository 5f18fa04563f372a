// oxlint-disable-next-line typescript/triple-slash-reference -- global types, which an import would turn into a module
/// <reference path="./.sst/platform/config.d.ts" />

// SST does not allow top-level imports in this file, so each function imports what it needs.
export default $config({
  async app({ stage }) {
    const { appSettings } = await import("./infra/stage.ts");
    return appSettings(stage);
  },
  async run() {
    await import("./infra/api.ts");
    const { apiUrl, domainTarget } = await import("./infra/api-gateway.ts");
    const { eventBus } = await import("./infra/event-bus.ts");
    const { streamDomainTarget, streamUrl } = await import("./infra/stream.ts");
    await import("./infra/deliveries.ts");
    await import("./infra/syncs.ts");
    await import("./infra/probes.ts");
    await import("./infra/outbound.ts");
    await import("./infra/schedules.ts");
    await import("./infra/alarms.ts");
    await import("./infra/dashboard.ts");
    return {
      url: apiUrl,
      streams: streamUrl,
      bus: eventBus.name,
      ...(domainTarget ? { domainTarget } : {}),
      ...(streamDomainTarget ? { streamDomainTarget } : {}),
    };
  },
});
