import { randomUUID } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { Env } from "./app.ts";

const SLOW_MS = 1_000;
const HEALTH = new Set(["/health", "/healthz", "/readyz"]);

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
