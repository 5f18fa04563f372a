/** Attributes of a span. Their names follow OpenTelemetry's semantic conventions. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

interface SpanStart {
  name: string;
  kind: "server" | "consumer" | "client";
  /** The trace that the span belongs to. Without it, the span is a child of the surrounding span, if there is one. */
  trace_id?: string | null;
  attributes?: SpanAttributes;
}

/** A span that has not ended. */
export interface OpenSpan {
  set(attributes: SpanAttributes): void;
}

/**
 * Measures pieces of work and how they are nested. The tracer returns or rethrows what the work returns or throws, and throws no
 * other errors.
 */
export interface Tracer {
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

const IGNORED: OpenSpan = { set() {} };

/** Runs work as a span if this process is traced. */
export const traced = <T>(
  { tracer }: { tracer?: Tracer | undefined },
  start: SpanStart,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> => (tracer ? tracer.span(start, work) : work(IGNORED));
