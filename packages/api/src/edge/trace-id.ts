/** The format that AWS uses: `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=1`. */
const AWS_ROOT = /(?:^|;)\s*Root=(1-[0-9a-f]{8}-[0-9a-f]{24})\s*(?:;|$)/;
/** The W3C format. Future versions may append fields. */
const TRACEPARENT =
  /^(?!ff)(?:00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}|(?!00)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$/;
const ALL_ZEROS = /^0+$/;
const MAX_HEADER_CHARS = 1_000;

/**
 * Returns the id with which a request and its jobs are logged: the trace id from a load balancer or the client, else the request
 * id. It is stored in logs and in the database, so only well-formed trace ids are accepted.
 */
export function traceIdOf(headers: Headers, request_id: string): string {
  const read = (name: string) => (headers.get(name) ?? "").slice(0, MAX_HEADER_CHARS).trim();
  const root = AWS_ROOT.exec(read("x-amzn-trace-id"))?.[1];
  if (root) return root;
  const [, current, future] = TRACEPARENT.exec(read("traceparent")) ?? [];
  const trace = current ?? future;
  return trace && !ALL_ZEROS.test(trace) ? trace : request_id;
}
