import { createServer } from "node:http";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import type { IMetricReader, MetricData, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import { errorText, type Log } from "@board/core/values/log";

/** Prometheus expects the unit at the end of a metric's name, but the exporter does not add it. */
const SUFFIXES: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };
const COUNTER_SUFFIX = "_total";

function withUnit<M extends MetricData>(metric: M): M {
  const { name, unit } = metric.descriptor;
  const suffix = SUFFIXES[unit] ?? "";
  // The name now contains the unit, so the unit is removed here. Otherwise the exporter would add a line with the unit, which is
  // part of OpenMetrics and which not every collector understands.
  const base = name.endsWith(COUNTER_SUFFIX) ? name.slice(0, -COUNTER_SUFFIX.length) : name;
  return { ...metric, descriptor: { ...metric.descriptor, name: base + suffix, unit: "" } };
}

const withUnits = (collected: ResourceMetrics): ResourceMetrics => ({
  ...collected,
  scopeMetrics: collected.scopeMetrics.map((scope) => ({ ...scope, metrics: scope.metrics.map(withUnit) })),
});

/** Serves the collected metrics at `/metrics`, on a separate port that must not be public. */
export async function servePrometheus(
  port: number,
  host: string,
  log: Log,
): Promise<{ reader: IMetricReader; close: () => Promise<void> }> {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics") return void response.writeHead(404).end();
    reader.collect().then(
      ({ resourceMetrics, errors }) => {
        for (const error of errors) log.warn("telemetry.not_collected", errorText(error));
        response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
        response.end(serializer.serialize(withUnits(resourceMetrics)));
      },
      (error: unknown) => {
        log.warn("telemetry.not_collected", errorText(error));
        response.writeHead(503).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { reader, close };
}
