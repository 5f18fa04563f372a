import { createHash } from "node:crypto";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const W3C = /^[0-9a-f]{32}$/;
const AWS = /^1-([0-9a-f]{8})-([0-9a-f]{24})$/;

const SPAN_CHARS = 16;
const TRACE_CHARS = 32;
const digest = (text: string, chars: number) => createHash("sha256").update(text).digest("hex").slice(0, chars);

/** Returns a trace id in the W3C format. The service's own ids are UUIDs, which have this format without their hyphens. */
export function toTraceId(id: string): string {
  if (W3C.test(id)) return id;
  if (UUID.test(id)) return id.replaceAll("-", "");
  const [, time, rest] = AWS.exec(id) ?? [];
  return time ? time + rest : digest(id, TRACE_CHARS);
}

/**
 * Returns the id of the first span of a trace that this service began. It is computed from the trace id, so that jobs, which store
 * only the trace id, can name their parent. Null for a trace of another system, which may contain several requests.
 */
export const toRootSpanId = (id: string): string | null => (UUID.test(id) ? digest(`root of ${id}`, SPAN_CHARS) : null);

/** Returns the id of the span for a row, such as a run. */
export const toSpanId = (id: string): string => digest(id, SPAN_CHARS);
