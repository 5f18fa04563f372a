import { randomUUID } from "node:crypto";
import type { Actor, Role } from "@board/core/actor";
import type { LogFields } from "@board/core/log";
import type { Context as HonoContext, MiddlewareHandler } from "hono";
import type { Env } from "./app.ts";

const SLOW_MS = 1_000;
const HEALTH = new Set(["/health", "/healthz", "/readyz"]);

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The board that a path names, for the log: before anybody knows whether it is there. */
export function factsOfPath(c: HonoContext): LogFields {
  const board_id = c.req.param("board_id");
  return board_id && UUID.test(board_id) ? { board_id: board_id.toLowerCase() } : {};
}

/**
 * Who calls, for the log. A person's active organization is told only where the operation is about it: a board may belong
 * to another one, which is told once the board was read.
 */
export function factsOfActor(actor: Actor, role: Role): LogFields {
  if (actor.type === "user")
    return {
      user_id: actor.user_id,
      ...(role.organization && actor.active ? { organization_id: actor.active.organization_id } : {}),
    };
  if (actor.type !== "agent") return {};
  const { agent_id, organization_id, board_id } = actor;
  return { agent_id, organization_id, ...(board_id ? { board_id } : {}) };
}

/** Keeps the caller's request id when it is one, makes one otherwise, and sends it back. */
export const requestId: MiddlewareHandler<Env> = async (c, next) => {
  const given = c.req.header("x-request-id");
  const id = given && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
  c.set("request_id", id);
  await next();
  c.res.headers.set("X-Request-Id", id);
};

/** One line per request, louder the worse it went. Query strings stay out: some hold gateway tokens. */
export const requestLog: MiddlewareHandler<Env> = async (c, next) => {
  const start = performance.now();
  await next();
  if (HEALTH.has(c.req.path)) return;
  const { ctx, client_address } = c.var;
  const duration_ms = Math.round(performance.now() - start);
  const { status } = c.res;
  const { actor } = ctx;
  const who = actor.type === "user" ? `user:${actor.user_id}` : actor.type === "agent" ? `agent:${actor.agent_id}` : actor.type;
  const fields = { status, duration_ms, client_ip: client_address, actor: who };
  const level = status >= 500 ? "error" : status >= 400 ? "warn" : "debug";
  ctx.log[level]("http.request", `${c.req.method} ${c.req.path} ${status}`, fields);
  if (duration_ms > SLOW_MS) ctx.log.info("http.slow", `${c.req.method} ${c.req.path} took ${duration_ms} ms`, fields);
};

/** On every answer, errors included; what a handler has set itself stays. */
export const securityHeaders =
  (headers: Readonly<Record<string, string>>): MiddlewareHandler =>
  async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
  };
