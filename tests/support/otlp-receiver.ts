/** A collector on loopback, which decodes OTLP with the protocol classes of an official package of OpenTelemetry. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import otlp from "otlp-decoder/build/src/generated/root.js";

export interface ReceivedSpan {
  name: string;
  trace_id: string;
  span_id: string;
  /** Empty for the first span of a trace. */
  parent_id: string;
  kind: string;
  start_ms: number;
  end_ms: number;
  status: string;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** The names of the metrics that were received. */
  metrics: Set<string>;
  close(): Promise<void>;
}

interface Message {
  decode(body: Uint8Array): unknown;
  // The package declares no types of the messages.
  // oxlint-disable-next-line typescript/no-explicit-any
  toObject(message: unknown, options: object): any;
}

interface Protocol {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: Message } };
        metrics: { v1: { ExportMetricsServiceRequest: Message } };
      };
    };
  };
}

const { trace, metrics } = (otlp as unknown as Protocol).opentelemetry.proto.collector;
const AS_JSON = { bytes: String, longs: String, enums: String } as const;

interface Attribute {
  key: string;
  value?: { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean };
}

const toAttributes = (attributes: Attribute[] = []) =>
  Object.fromEntries(
    attributes.map(({ key, value = {} }) => [
      key,
      value.stringValue ?? value.doubleValue ?? value.boolValue ?? (value.intValue === undefined ? null : Number(value.intValue)),
    ]),
  );
const toHex = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64").toString("hex");
const toMs = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1_000n) / 1_000;

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const names = new Set<string>();

  function addSpans(body: Uint8Array): void {
    const message = trace.v1.ExportTraceServiceRequest.decode(body);
    const { resourceSpans = [] } = trace.v1.ExportTraceServiceRequest.toObject(message, AS_JSON);
    for (const { resource, scopeSpans = [] } of resourceSpans)
      for (const span of scopeSpans.flatMap((scope: { spans?: object[] }) => scope.spans ?? []))
        spans.push({
          name: span.name,
          trace_id: toHex(span.traceId),
          span_id: toHex(span.spanId),
          parent_id: toHex(span.parentSpanId),
          kind: String(span.kind).replace("SPAN_KIND_", "").toLowerCase(),
          start_ms: toMs(span.startTimeUnixNano),
          end_ms: toMs(span.endTimeUnixNano),
          status: String(span.status?.code ?? ""),
          attributes: toAttributes(span.attributes),
          resource: toAttributes(resource?.attributes),
        });
  }

  function addMetrics(body: Uint8Array): void {
    const message = metrics.v1.ExportMetricsServiceRequest.decode(body);
    const { resourceMetrics = [] } = metrics.v1.ExportMetricsServiceRequest.toObject(message, AS_JSON);
    for (const { scopeMetrics = [] } of resourceMetrics)
      for (const { metrics: found = [] } of scopeMetrics) for (const { name } of found) names.add(name);
  }

  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      if (request.url === "/v1/traces") addSpans(body);
      if (request.url === "/v1/metrics") addMetrics(body);
      // An empty answer is the message that everything was accepted.
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics: names,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
