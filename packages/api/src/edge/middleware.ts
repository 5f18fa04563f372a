import { randomUUID } from "node:crypto";
import type { Actor, Role } from "@board/core/context/actor";
import type { SpanAttributes } from "@board/core/context/tracer";
import type { LogFields } from "@board/core/values/log";
import type { Context as HonoContext, MiddlewareHandler } from "hono";
import type { Env } from "../runtime.ts";

const SLOW_REQUEST_MS = 1_000;
const HEALTH_PATHS = new Set(["/health", "/healthz", "/readyz"]);

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the board id in the path for the log. The board may not exist. */
export function pathLogFields(c: HonoContext): LogFields {
  const board_id = c.req.param("board_id");
  return board_id && UUID.test(board_id) ? { board_id: board_id.toLowerCase() } : {};
}

/**
 * Returns the caller for the log. A user's active organization is logged only if the operation works on it. An operation on a board
 * logs the board's organization as soon as it has read the board.
 */
export function actorLogFields(actor: Actor, role: Role): LogFields {
  if (actor.type === "user")
    return {
      user_id: actor.user_id,
      ...(role.organization && actor.active ? { organization_id: actor.active.organization_id } : {}),
    };
  if (actor.type !== "agent") return {};
  const { agent_id, organization_id, board_id } = actor;
  return { agent_id, organization_id, ...(board_id ? { board_id } : {}) };
}

/**
 * Returns the attributes of a request in traces and metrics. They contain the route and not the path, because each row has its own
 * path.
 */
export function requestAttributes(c: HonoContext<Env>): SpanAttributes {
  const { route } = c.var;
  return {
    "http.request.method": c.req.method,
    ...(route === undefined ? {} : { "http.route": route }),
    "http.response.status_code": c.res.status,
  };
}

/** Takes the caller's request id if it is valid, or creates one, and returns it in the response. */
export const requestId: MiddlewareHandler<Env> = async (c, next) => {
  const inboundId = c.req.header("x-request-id");
  const id = inboundId && /^[A-Za-z0-9._-]{1,128}$/.test(inboundId) ? inboundId : randomUUID();
  c.set("request_id", id);
  await next();
  c.res.headers.set("X-Request-Id", id);
};

/**
 * Logs one line per request at a level that depends on the status. Query strings are not logged, since some contain gateway
 * tokens.
 */
export const requestLog: MiddlewareHandler<Env> = async (c, next) => {
  const start = performance.now();
  await next();
  if (HEALTH_PATHS.has(c.req.path)) return;
  const { ctx, client_address } = c.var;
  const duration_ms = Math.round(performance.now() - start);
  const { status } = c.res;
  const { actor } = ctx;
  const actorLabel =
    actor.type === "user" ? `user:${actor.user_id}` : actor.type === "agent" ? `agent:${actor.agent_id}` : actor.type;
  const fields = { status, duration_ms, client_ip: client_address, actor: actorLabel };
  const level = status >= 500 ? "error" : status >= 400 ? "warn" : "debug";
  ctx.log[level]("http.request", `${c.req.method} ${c.req.path} ${status}`, fields);
  // If responses cannot be streamed, the response of a stream waits for an event, so its duration is not meaningful.
  const isStreamAnswer = c.res.headers.get("content-type")?.startsWith("text/event-stream");
  if (duration_ms > SLOW_REQUEST_MS && !isStreamAnswer)
    ctx.log.info("http.slow", `${c.req.method} ${c.req.path} took ${duration_ms} ms`, fields);
};

/** Adds the headers to every response, including errors, unless a handler has set them already. */
export const securityHeaders =
  (headers: Readonly<Record<string, string>>): MiddlewareHandler =>
  async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
  };
