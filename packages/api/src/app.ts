import { as, type Public } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { InvalidInput, notFound } from "@board/core/errors";
import { learn, withFields } from "@board/core/log";
import { isWaiting } from "@board/core/outbox";
import type { Settings } from "@board/core/settings";
import { zValidator } from "@hono/zod-validator";
import { type Context as HonoContext, Hono, type MiddlewareHandler } from "hono";
import type * as z from "zod";
import { clientAddress } from "./address.ts";
import { authenticate, userVerifier } from "./authenticate.ts";
import { findUnsafe, readBytes, readJson } from "./body.ts";
import { cors } from "./cors.ts";
import type { Endpoint, Http, Method } from "./endpoint.ts";
import { json, toResponse } from "./errors.ts";
import { factsOfActor, factsOfPath, requestId, requestLog, securityHeaders } from "./request.ts";
import { toProblems } from "./problems.ts";
import { createStreams, type OpenStream, type StreamEdge } from "./streams.ts";
import { traceOf } from "./trace.ts";

/** What an edge gives to the app: everything that differs between Lambda, the local server and the tests. */
export interface Runtime {
  settings: Settings;
  /** A context for one request: nobody is signed in, nothing is in the outbox. */
  context(): Context<Public>;
  /** Sends wake-ups for the jobs that a request has stored. Never fails the request. */
  relay(ctx: Context): Promise<void>;
  /** Address of the peer, as the edge knows it. */
  socketAddress(c: HonoContext): string | null;
  /** A static file of the reference page. */
  asset(name: string): Promise<Uint8Array>;
  streams: StreamEdge;
}

export interface Env {
  Variables: { ctx: Context; request_id: string; client_address: string; runtime: Runtime; openStream: OpenStream };
}
type C = HonoContext<Env>;

/** The service over HTTP: all operations for the local server and the tests, one group of them for its Lambda. */
export function createApp(runtime: Runtime, endpoints: readonly Endpoint[]): Hono<Env> {
  const app = new Hono<Env>({ strict: false });
  const { settings } = runtime;
  const log = runtime.context().log;
  const verifyUser = userVerifier(settings, log);
  const addressOf = clientAddress(settings.trusted_proxies, log);
  const openStream = createStreams(runtime, verifyUser);

  app.use(requestId, async (c, next) => {
    c.set("runtime", runtime);
    c.set("openStream", openStream);
    c.set("client_address", addressOf(runtime.socketAddress(c), c.req.raw.headers));
    const ctx = runtime.context();
    const { request_id } = c.var;
    const trace_id = traceOf(c.req.raw.headers, request_id);
    const facts = { request_id, trace_id, method: c.req.method, path: c.req.path };
    c.set("ctx", { ...ctx, trace_id, log: withFields(ctx.log, facts) });
    await next();
  });
  app.use(requestLog, securityHeaders(settings.security_headers), cors(settings.cors_origins));
  app.onError((error, c) => toResponse(error, c.var.ctx.actor.type === "agent", c.var.ctx.log));
  app.notFound((c) => methodNotAllowed(endpoints, c) ?? toResponse(notFound(), false, c.var.ctx.log));

  const signIn =
    (endpoint: Endpoint): MiddlewareHandler<Env> =>
    async (c, next) => {
      const role = endpoint.spec.as;
      learn(c.var.ctx.log, factsOfPath(c));
      const actor = await authenticate(c.var.ctx, role, c.req.raw.headers, c.var.client_address, verifyUser);
      // Kept before the role has its say: a refusal is told in the form of whoever was recognised.
      c.set("ctx", { ...c.var.ctx, actor });
      // The path's board, where it names one: a main agent works on the boards of others.
      learn(c.var.ctx.log, { ...factsOfActor(actor, role), ...factsOfPath(c) });
      c.set("ctx", as(c.var.ctx, role));
      await next();
    };

  for (const endpoint of fixedFirst(endpoints)) {
    for (const path of endpoint.paths)
      app.on(endpoint.method, toHonoPath(path), signIn(endpoint), ...validators(endpoint), (c) => answer(endpoint, c));
  }
  return app;
}

/** Fixed segments win over placeholders, wherever they stand in the table. */
function fixedFirst(endpoints: readonly Endpoint[]): Endpoint[] {
  const rank = (endpoint: Endpoint) => endpoint.paths[0]!.replaceAll(/\{\w+\}/g, "\uffff");
  return endpoints.toSorted((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

const toHonoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Path ids first, then what they lead to, then query and body (contract conventions.md §5). */
function validators(endpoint: Endpoint): MiddlewareHandler<Env>[] {
  const { query } = endpoint.spec;
  const params = checked("param", endpoint.params, async (c, issues) => {
    throw new InvalidInput(toProblems(issues, "path", c.req.param()));
  });
  if (!query) return [params];
  return [
    params,
    storableQuery(endpoint),
    checked("query", query, (c, issues) => refuse(endpoint, c, toProblems(issues, "query", c.req.query()))),
  ];
}

type OnBad = (c: C, issues: z.core.$ZodIssue[]) => Promise<never>;

/** The validator's own type follows each schema; the table holds operations of every schema. */
function checked(target: "param" | "query", schema: z.ZodType, onBad: OnBad): MiddlewareHandler<Env> {
  return zValidator(target, schema as z.ZodObject, async (result, c) => {
    if (!result.success) await onBad(c as unknown as C, result.error.issues as z.core.$ZodIssue[]);
  }) as unknown as MiddlewareHandler<Env>;
}

const storableQuery =
  (endpoint: Endpoint): MiddlewareHandler<Env> =>
  async (c, next) => {
    const problem = findUnsafe(c.req.queries(), ["query"]);
    if (problem) await refuse(endpoint, c, [{ ...problem, loc: problem.loc.slice(0, 2) }]);
    await next();
  };

/** Bad input is told only to those who may reach what it was meant for. */
async function refuse(endpoint: Endpoint, c: C, problems: InvalidInput["problems"]): Promise<never> {
  await endpoint.spec.reaches?.(c.var.ctx, paramsOf(c) as never);
  throw new InvalidInput(problems);
}

const valid = (c: C, target: "param" | "query") => (c.req.valid as (target: string) => object | undefined)(target);
const paramsOf = (c: C) => valid(c, "param") ?? {};

async function answer(endpoint: Endpoint, c: C): Promise<Response> {
  const { spec } = endpoint;
  const body = spec.body ? await bodyOf(endpoint, spec.body, c) : undefined;
  const { ctx, runtime, openStream } = c.var;
  const http: Http = {
    headers: c.req.raw.headers,
    source_ip: c.var.client_address,
    read: (max_bytes) => readBytes(c.req.raw, max_bytes),
    asset: (name) => runtime.asset(name),
    stream: (since, follow) => openStream(c, spec.as, since, follow),
  };
  try {
    const result = await endpoint.run(ctx, { params: paramsOf(c), query: valid(c, "query"), body, http });
    return result instanceof Response ? result : json(result, spec.status ?? 200);
  } finally {
    if (isWaiting(ctx.outbox)) await runtime.relay(ctx);
  }
}

async function bodyOf(endpoint: Endpoint, schema: z.ZodType, c: C): Promise<unknown> {
  let input: unknown;
  try {
    input = await readJson(c.req.raw);
  } catch (error) {
    await endpoint.spec.reaches?.(c.var.ctx, paramsOf(c) as never);
    throw error;
  }
  const result = await schema.safeParseAsync(input);
  return result.success ? result.data : refuse(endpoint, c, toProblems(result.error.issues, "body", input));
}

function methodNotAllowed(endpoints: readonly Endpoint[], c: C): Response | null {
  const path = c.req.path.replace(/(?<=.)\/$/, "");
  const matches = endpoints.filter((endpoint) => endpoint.paths.some((pattern) => toPattern(pattern).test(path)));
  const methods = new Set<Method | "HEAD">(matches.map((endpoint) => endpoint.method));
  if (methods.has("GET")) methods.add("HEAD");
  if (methods.size === 0) return null;
  return json({ detail: "Method Not Allowed" }, 405, { Allow: [...methods].sort().join(", ") });
}

/** A path of the table as a regular expression. */
export const toPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
