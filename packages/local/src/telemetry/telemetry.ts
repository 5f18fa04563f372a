import type { Meter as OtelMeter } from "@opentelemetry/api";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, type IMetricReader } from "@opentelemetry/sdk-metrics";
import type { Context } from "@board/core/context/context";
import type { Gateways } from "@board/core/context/gateways";
import type { HttpClient } from "@board/core/context/http-client";
import type { Meter } from "@board/core/context/meter";
import type { Tracer } from "@board/core/context/tracer";
import type { Settings } from "@board/core/config/settings";
import { errorText, type Log } from "@board/core/values/log";
import { addJobGauges, addProcessGauges } from "./gauges.ts";
import { createDurations, createMeter } from "./instruments.ts";
import { recordEndedRuns } from "./run-spans.ts";
import type { ScheduleName } from "@board/api/work/schedules";
import type { Tick } from "../scheduler.ts";
import { traceGateways, traceHttp } from "./traced-hosts.ts";
import { createIds, createTracer, recordSpan, type SpanRecord } from "./spans.ts";

/** The traces and metrics of this process. The module is loaded only if somebody collects them. */
export interface Telemetry {
  meter: Meter;
  tracer: Tracer;
  onStreamCount(this: void, open: number): void;
  /** Adds metrics that are read from the database whenever metrics are collected. */
  observeJobs(createContext: () => Context): void;
  traceGateways(gateways: Gateways): Gateways;
  traceHttp(http: HttpClient): HttpClient;
  /** Called after each scheduled run (tick) in this process. */
  onTick(this: void, ctx: Context, tick: Tick): Promise<void>;
  close(): Promise<void>;
}

const SERVICE_NAME = "board";
/** After each run of this schedule, the agents' runs that ended since its previous run are stored as spans. */
const RUNS_WITH: ScheduleName = "relay";

type TelemetrySettings = Pick<Settings, "telemetry" | "host">;

export async function openTelemetry({ telemetry, host }: TelemetrySettings, instance_id: string, log: Log): Promise<Telemetry> {
  const { metrics_port, otlp_endpoint } = telemetry;
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": SERVICE_NAME, "service.instance.id": instance_id }))
    .merge(detectResources({ detectors: [envDetector] }));
  const readers: IMetricReader[] = [];
  const page = metrics_port === null ? null : await (await import("./prometheus.ts")).servePrometheus(metrics_port, host, log);
  if (page) readers.push(page.reader);
  if (otlp_endpoint !== null) readers.push(await exportMetrics(otlp_endpoint));
  const metrics = new MeterProvider({ resource, readers });
  const otel = metrics.getMeter(SERVICE_NAME);
  const ids = createIds();
  const traces = otlp_endpoint === null ? null : await openTraces(otlp_endpoint, resource, ids);
  const store = traces && ((span: SpanRecord) => recordSpan(traces.getTracer(SERVICE_NAME), ids, span));
  const tracer = createTracer(createDurations(otel), store, ids);
  const stopGauges = addProcessGauges(otel);
  return {
    meter: createMeter(otel),
    tracer,
    onStreamCount: countStreams(otel),
    observeJobs: (createContext) => addJobGauges(otel, createContext),
    traceGateways: (gateways) => traceGateways(gateways, tracer),
    traceHttp: (http) => traceHttp(http, tracer),
    async onTick(ctx, tick) {
      if (store && tick.name === RUNS_WITH) await recordEndedRuns(ctx, tick, store);
    },
    async close() {
      stopGauges();
      await page?.close();
      const warn = (error: unknown) => log.warn("telemetry.not_flushed", errorText(error));
      await Promise.all([traces?.shutdown().catch(warn), metrics.shutdown().catch(warn)]);
    },
  };
}

async function exportMetrics(endpoint: string): Promise<IMetricReader> {
  const { OTLPMetricExporter } = await import("@opentelemetry/exporter-metrics-otlp-proto");
  const { PeriodicExportingMetricReader } = await import("@opentelemetry/sdk-metrics");
  return new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: toUrl(endpoint, "metrics") }) });
}

/** Returns the address for a signal: its path is below the endpoint, as OpenTelemetry specifies. */
const toUrl = (endpoint: string, signal: "traces" | "metrics") => `${endpoint.replace(/\/$/, "")}/v1/${signal}`;

async function openTraces(endpoint: string, resource: ReturnType<typeof defaultResource>, ids: ReturnType<typeof createIds>) {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
  const { BatchSpanProcessor, TracerProvider } = await import("@opentelemetry/sdk-trace");
  const spanProcessors = [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: toUrl(endpoint, "traces") }) })];
  return new TracerProvider({ resource, idGenerator: ids.generator, spanProcessors });
}

function countStreams(otel: OtelMeter): (open: number) => void {
  const gauge = otel.createGauge("board.streams", { description: "Open streams of this process." });
  gauge.record(0);
  return (open) => gauge.record(open);
}
