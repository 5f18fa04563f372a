import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer,
} from "@opentelemetry/api";
import type { Tracer } from "@board/core/context/tracer";
import { errorText } from "@board/core/values/log";
import type { Durations } from "./instruments.ts";
import { toRootSpanId, toTraceId } from "./trace-ids.ts";

/**
 * The span to which the current work belongs. It is not an argument, because calls to hosts do not get the context of the request
 * or job.
 */
interface Place {
  traceId: string;
  spanId: string;
}

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT };
/** Routes of health probes, which arrive every few seconds. Their durations are measured, but not traced. */
const PROBES: ReadonlySet<unknown> = new Set(["/health", "/healthz", "/readyz"]);

export interface SpanRecord {
  name: string;
  kind: SpanKind;
  traceId: string;
  /** When it is undefined, the span gets a random id. */
  spanId?: string | undefined;
  parentId: string | null;
  started_at: Date | number;
  ended_at: Date | number;
  attributes: Attributes;
  error?: string | undefined;
}

/** Creates the id generator of the SDK. It returns the ids that `use` has set for the next span, or random ids. */
export function createIds() {
  let next: { traceId?: string | undefined; spanId?: string | undefined } = {};
  const random = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
  return {
    random,
    use: (ids: typeof next) => void (next = ids),
    generator: {
      generateTraceId: () => next.traceId ?? random(16),
      generateSpanId: () => next.spanId ?? random(8),
    },
  };
}

/** Stores a span that has ended. */
export function recordSpan(otel: OtelTracer, ids: ReturnType<typeof createIds>, span: SpanRecord): void {
  const parent =
    span.parentId === null
      ? context.active()
      : trace.setSpanContext(context.active(), {
          traceId: span.traceId,
          spanId: span.parentId,
          traceFlags: TraceFlags.SAMPLED,
          isRemote: true,
        });
  ids.use({ traceId: span.traceId, spanId: span.spanId });
  const { name, kind, attributes } = span;
  const open = otel.startSpan(name, { kind, attributes, startTime: span.started_at, root: span.parentId === null }, parent);
  ids.use({});
  if (span.error !== undefined) open.setStatus({ code: SpanStatusCode.ERROR, message: span.error });
  open.end(span.ended_at);
}

/** Measures spans, and stores them if `store` is given. */
export function createTracer(
  durations: Durations,
  store: ((span: SpanRecord) => void) | null,
  ids: ReturnType<typeof createIds>,
): Tracer {
  const places = new AsyncLocalStorage<Place>();
  return {
    async span(start, work) {
      const { kind } = start;
      const around = places.getStore();
      const own = start.trace_id ?? null;
      const traceId = own === null ? (around?.traceId ?? ids.random(16)) : toTraceId(own);
      const root = own === null ? null : toRootSpanId(own);
      const isRoot = kind === "server" && root !== null;
      const spanId = isRoot ? root : ids.random(8);
      const parentId = isRoot ? null : own === null ? (around?.spanId ?? null) : root;
      const attributes: Attributes = { ...start.attributes };
      let error: string | undefined;
      const started_at = Date.now();
      const from = performance.now();
      try {
        return await places.run({ traceId, spanId }, () => work({ set: (more) => void Object.assign(attributes, more) }));
      } catch (thrown) {
        error = errorText(thrown);
        attributes["error.type"] ??= thrown instanceof Error ? thrown.name : "unknown";
        throw thrown;
      } finally {
        const ms = performance.now() - from;
        durations.record(kind, ms / 1_000, attributes);
        const route = attributes["http.route"];
        const status = Number(attributes["http.response.status_code"] ?? 0);
        if (kind === "server" && status >= 500) error ??= `Answered with ${status}`;
        if (store && !PROBES.has(route))
          store({
            name: kind === "server" && typeof route === "string" ? `${start.name} ${route}` : start.name,
            kind: KINDS[kind],
            traceId,
            spanId,
            parentId,
            started_at,
            ended_at: started_at + ms,
            attributes,
            error,
          });
      }
    },
  };
}
