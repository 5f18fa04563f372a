/** As AWS writes it: `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=1`. */
const AWS_ROOT = /(?:^|;)\s*Root=(1-[0-9a-f]{8}-[0-9a-f]{24})\s*(?:;|$)/;
/** As W3C writes it. Of a version that is still to come only the beginning is known. */
const TRACEPARENT =
  /^(?!ff)(?:00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}|(?!00)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$/;
const NO_TRACE = /^0+$/;
const LONGEST_HEADER = 1_000;

/**
 * What a request and all that follows from it is known by: the trace that a load balancer or the caller has begun, else
 * the request's own id. It lands in logs and in the database, so that nothing is taken that is not shaped like one.
 */
export function traceOf(headers: Headers, request_id: string): string {
  const read = (name: string) => (headers.get(name) ?? "").slice(0, LONGEST_HEADER).trim();
  const root = AWS_ROOT.exec(read("x-amzn-trace-id"))?.[1];
  if (root) return root;
  const [, known, newer] = TRACEPARENT.exec(read("traceparent")) ?? [];
  const trace = known ?? newer;
  return trace && !NO_TRACE.test(trace) ? trace : request_id;
}
