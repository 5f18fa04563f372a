import type { LogLine, World } from "../world.ts";
import type { Api, Operation } from "./document.ts";
import type { Secrets } from "./secrets.ts";
import type { Answered, Cast, Sent } from "./send.ts";

export interface Judge {
  /** The operation that a request got to; null for none. */
  reached(sent: Sent): Operation | null;
  /** What is wrong with an answer and with what was logged meanwhile; null for nothing. */
  problemOf(sent: Sent, answered: Answered, cast: Cast): string | null;
  /** What is wrong with what was logged since it was last looked at. */
  logged(): string | null;
}

const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export function createJudge(world: World, api: Api, secrets: Secrets): Judge {
  const reached = ({ method, target }: Sent) =>
    api.reached(method === "HEAD" ? "GET" : method, new URL(target, "http://localhost").pathname);

  return {
    reached,
    problemOf(sent, answered, cast) {
      const operation = reached(sent);
      // Looked at in any case: what was logged belongs to this request, not to the next one.
      const line = logged();
      return misfit(api, operation, sent, answered) ?? wrongHeaders(answered) ?? told(operation, sent, answered, cast) ?? line;
    },
    logged,
  };

  function told(
    operation: Operation | null,
    sent: Sent,
    { status, text, headers }: Answered,
    { home, victim }: Cast,
  ): string | null {
    const head = [...headers].map((header) => header.join(": ")).join("\n");
    // Invites are handed on by whoever may list them.
    const gives_tokens = status < 300 && operation?.path.includes("/invites") && !operation.path.endsWith("/accept");
    const leak = gives_tokens ? null : secrets.leakIn(text + head);
    if (leak) return `the answer gives a secret away: ${leak}`;
    const inside = operation?.path === "/openapi.json" ? null : secrets.insideIn(text);
    if (inside) return `the answer tells how the service is made: ${inside}`;
    if (status >= 300 || home === victim) return null;
    const request = sent.target + String(sent.body);
    const foreign = victim.pool.all();
    const shown = [...text.matchAll(IDS)].map(([id]) => id).find((id) => foreign.has(id) && !request.includes(id));
    return shown === undefined ? null : `the answer holds another organization's id: ${shown}`;
  }

  function logged(): string | null {
    for (const line of world.log.splice(0)) {
      const text = JSON.stringify(line);
      if (line.level === "error" && !isOfHost(line)) return `it is logged as an error: ${text}`;
      const leak = secrets.leakIn(text);
      if (leak) return `the log gives a secret away: ${leak} in ${text}`;
    }
    return null;
  }
}

/** A host that fails or refuses is told as loudly as a failure of the service; whether 502 is documented is judged elsewhere. */
const isOfHost = ({ event, status }: LogLine) => event === "jobs.dead" || (event === "http.request" && status === 502);

function misfit(api: Api, operation: Operation | null, { method }: Sent, { status, headers, text }: Answered): string | null {
  const media = headers.get("content-type");
  if (method === "HEAD") return text === "" ? statusMisfit(operation, status) : "HEAD has a body";
  if (operation) return api.misfit(operation, status, media, text);
  // Nothing is documented for what is not there.
  if (![404, 405].includes(status)) return `there is no such operation, yet the status is ${status}`;
  if (status === 405 && !headers.get("allow")) return "405 without Allow";
  return /^\{"detail":"[A-Z][\w ]+"\}$/.test(text) ? null : `${status} with ${text.slice(0, 200)}`;
}

const statusMisfit = (operation: Operation | null, status: number): string | null =>
  (operation ? operation.statuses : [404, 405]).includes(status) ? null : `status ${status} is not documented`;

function wrongHeaders({ status, headers }: Answered): string | null {
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(headers.get("x-request-id") ?? "")) return `X-Request-Id is ${headers.get("x-request-id")}`;
  if (headers.get("x-content-type-options") !== "nosniff") return "X-Content-Type-Options is missing";
  if (status === 429 && !/^[1-9]\d?$/.test(headers.get("retry-after") ?? "")) return "429 without Retry-After";
  return null;
}
