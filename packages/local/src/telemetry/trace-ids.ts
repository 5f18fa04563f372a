import { createHash } from "node:crypto";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const W3C = /^[0-9a-f]{32}$/;
const AWS = /^1-([0-9a-f]{8})-([0-9a-f]{24})$/;

const SPAN_CHARS = 16;
const TRACE_CHARS = 32;
const digest = (text: string, chars: number) => createHash("sha256").update(text).digest("hex").slice(0, chars);

/** The trace id in the format of W3C. The service's own ids are UUIDs, whose digits already have this format. */
export function toTraceId(id: string): string {
  if (W3C.test(id)) return id;
  if (UUID.test(id)) return id.replaceAll("-", "");
  const [, time, rest] = AWS.exec(id) ?? [];
  return time ? time + rest : digest(id, TRACE_CHARS);
}

/**
 * The id of the first span of a trace that this service began. It is computed from the trace id, so that jobs, which store only
 * the trace id, can name the request as their parent. Null for a trace that another system began, which may contain several
 * requests to this service.
 */
export const toRootSpanId = (id: string): string | null => (UUID.test(id) ? digest(`root of ${id}`, SPAN_CHARS) : null);

/** The id of the span that stands for a row, such as a run. */
export const toSpanId = (id: string): string => digest(id, SPAN_CHARS);
