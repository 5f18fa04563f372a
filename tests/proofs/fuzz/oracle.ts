import type { LogLine, World } from "../../support/world.ts";
import type { Api, Operation } from "./document.ts";
import type { Secrets } from "./secrets.ts";
import type { ReceivedResponse, FuzzTenants, SentRequest } from "./request.ts";

export interface Oracle {
  /** Returns the operation of a request, or null. */
  operationOf(sent: SentRequest): Operation | null;
  /** Returns the problem of an answer and of the log since the last check, or null. */
  findProblem(sent: SentRequest, answered: ReceivedResponse, cast: FuzzTenants): string | null;
  /** Returns the problem of the log since the last check. */
  findLogProblem(): string | null;
}

const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export function createOracle(world: World, api: Api, secrets: Secrets): Oracle {
  const operationOf = ({ method, target }: SentRequest) =>
    api.operationAt(method === "HEAD" ? "GET" : method, new URL(target, "http://localhost").pathname);

  return {
    operationOf,
    findProblem(sent, answered, cast) {
      const operation = operationOf(sent);
      // The log is always checked here, since its lines belong to this request.
      const line = logged();
      return (
        findResponseMismatch(api, operation, sent, answered) ??
        findHeaderProblem(answered) ??
        findLeak(operation, sent, answered, cast) ??
        line
      );
    },
    findLogProblem: logged,
  };

  function findLeak(
    operation: Operation | null,
    sent: SentRequest,
    { status, text, headers }: ReceivedResponse,
    { home, victim }: FuzzTenants,
  ): string | null {
    const head = [...headers].map((header) => header.join(": ")).join("\n");
    // A caller who may list invites may see their tokens.
    const gives_tokens = status < 300 && operation?.path.includes("/invites") && !operation.path.endsWith("/accept");
    const leak = gives_tokens ? null : secrets.findSecret(text + head);
    if (leak) return `the answer reveals a secret: ${leak}`;
    const inside = operation?.path === "/openapi.json" ? null : secrets.findInternals(text);
    if (inside) return `the answer reveals internals of the service: ${inside}`;
    if (status >= 300 || home === victim) return null;
    const request = sent.target + String(sent.body);
    const foreign = victim.pool.all();
    const shown = [...text.matchAll(IDS)].map(([id]) => id).find((id) => foreign.has(id) && !request.includes(id));
    return shown === undefined ? null : `the answer holds another organization's id: ${shown}`;
  }

  function logged(): string | null {
    for (const line of world.log.splice(0)) {
      const text = JSON.stringify(line);
      if (line.level === "error" && !isHostFailure(line)) return `an error was logged: ${text}`;
      const leak = secrets.findSecret(text);
      if (leak) return `the log reveals a secret: ${leak} in ${text}`;
    }
    return null;
  }
}

/** Checks whether a log line is about a failing host, which is logged as an error. Another check tests that 502 is documented. */
const isHostFailure = ({ event, status }: LogLine) => event === "jobs.dead" || (event === "http.request" && status === 502);

function findResponseMismatch(
  api: Api,
  operation: Operation | null,
  sent: SentRequest,
  answered: ReceivedResponse,
): string | null {
  const { method } = sent;
  const { status, headers, text } = answered;
  const media = headers.get("content-type");
  if (status === 304 && operation) return findRevalidationProblem(sent, answered);
  if (method === "HEAD") return text === "" ? findStatusMismatch(operation, status) : "HEAD has a body";
  if (operation) return api.findMismatch(operation, status, media, text);
  // Nothing is documented for an unknown operation.
  if (![404, 405].includes(status)) return `there is no such operation, yet the status is ${status}`;
  if (status === 405 && !headers.get("allow")) return "405 without Allow";
  return /^\{"detail":"[A-Z][\w ]+"\}$/.test(text) ? null : `${status} with ${text.slice(0, 200)}`;
}

/**
 * Finds the problem of a 304. The document describes 304 for all reads, but it is valid only if the request sent an entity tag.
 */
function findRevalidationProblem({ method, headers }: SentRequest, answered: ReceivedResponse): string | null {
  const sent = headers["if-none-match"];
  if (sent === undefined || (method !== "GET" && method !== "HEAD")) return "304 without a condition";
  if (answered.text !== "" || answered.headers.has("content-type")) return "304 has content";
  const tag = answered.headers.get("etag");
  if (tag === null) return "304 without ETag";
  return sent === "*" || sent.includes(tag) ? null : `304 with ETag ${tag}, which was not sent`;
}

const findStatusMismatch = (operation: Operation | null, status: number): string | null =>
  (operation ? operation.statuses : [404, 405]).includes(status) ? null : `status ${status} is not documented`;

function findHeaderProblem({ status, headers }: ReceivedResponse): string | null {
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(headers.get("x-request-id") ?? "")) return `X-Request-Id is ${headers.get("x-request-id")}`;
  if (headers.get("x-content-type-options") !== "nosniff") return "X-Content-Type-Options is missing";
  if (status === 429 && !/^[1-9]\d?$/.test(headers.get("retry-after") ?? "")) return "429 without Retry-After";
  return null;
}
