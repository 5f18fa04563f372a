import { as } from "@board/core/context";
import { InvalidInput, notFound } from "@board/core/errors";
import { createScopedLog } from "@board/core/log";
import { hasPendingWakeups } from "@board/core/pending-wakeups";
import { zValidator } from "@hono/zod-validator";
import { type Context as HonoContext, Hono, type MiddlewareHandler } from "hono";
import type * as z from "zod";
import { toCounterKey } from "@board/core/rate-limit";
import { Answer, serialize } from "./answer.ts";
import { createClientAddressResolver } from "./client-address.ts";
import { authenticate, resumeOrganization } from "./authenticate.ts";
import { createRequestBody, findUnstorable, readJson } from "./body.ts";
import { createBodyBudget } from "./body-budget.ts";
import { cors } from "./cors.ts";
import { type Endpoint, type HttpExchange, isStream, type Method } from "./endpoint.ts";
import { json, toErrorResponse } from "./errors.ts";
import { actorLogFields, pathLogFields, requestId, requestLog, securityHeaders } from "./middleware.ts";
import { sortFixedSegmentsFirst, toHonoPath, toPathRegExp } from "./path.ts";
import { toProblems } from "./problems.ts";
import type { App, DocumentCache, Env, OpenApiDocument, Runtime } from "./runtime.ts";
import { createStreamOpener } from "./streams.ts";
import { traceIdOf } from "./trace-id.ts";
import { createUserVerifier } from "./user-verifier.ts";

type AppContext = HonoContext<Env>;

/** Creates the HTTP service: with all operations for the local server and the tests, with one group for its Lambda. */
export function createApp(runtime: Runtime, endpoints: readonly Endpoint[]): App {
  const app = new Hono<Env>({ strict: false });
  const { settings } = runtime;
  const log = runtime.createContext().log;
  const verifyUser = createUserVerifier(settings, log);
  const resolveAddress = createClientAddressResolver(settings.trusted_proxies, log);
  const openStream = createStreamOpener(runtime, verifyUser);
  const openApiDocument = createDocumentCache();
  const bodyBudget = createBodyBudget(settings.budgets);

  app.use(requestId, async (c, next) => {
    c.set("runtime", runtime);
    c.set("openStream", openStream);
    c.set("openApiDocument", openApiDocument);
    c.set("client_address", resolveAddress(runtime.peerAddress(c), c.req.raw.headers));
    const ctx = runtime.createContext();
    const { request_id } = c.var;
    const trace_id = traceIdOf(c.req.raw.headers, request_id);
    const fields = { request_id, trace_id, method: c.req.method, path: c.req.path };
    c.set("ctx", { ...ctx, trace_id, log: createScopedLog(ctx.log, fields) });
    const body = createRequestBody(c.req.raw, bodyBudget, toCounterKey(c.var.client_address));
    c.set("body", body);
    await next();
    body.release();
  });
  app.use(requestLog, securityHeaders(settings.security_headers), cors(settings.cors_origins));
  app.onError((error, c) => toErrorResponse(error, c.var.ctx.actor.type === "agent", c.var.ctx.log));
  app.notFound((c) => methodNotAllowed(endpoints, c) ?? toErrorResponse(notFound(), false, c.var.ctx.log));

  const authenticateRequest =
    (endpoint: Endpoint): MiddlewareHandler<Env> =>
    async (c, next) => {
      const role = endpoint.spec.as;
      c.var.ctx.log.addFields(pathLogFields(c));
      const actor = await authenticate(c.var.ctx, role, c.req.raw.headers, c.var.client_address, verifyUser);
      // Stored before the role is checked: the form of a 403 response depends on whether the caller is an agent.
      c.set("ctx", { ...c.var.ctx, actor });
      if (isStream(endpoint)) c.set("ctx", { ...c.var.ctx, actor: await resumeOrganization(c.var.ctx, role, c.req.raw.headers) });
      // The board of the path wins over the agent's own: a main agent works on other boards.
      c.var.ctx.log.addFields({ ...actorLogFields(c.var.ctx.actor, role), ...pathLogFields(c) });
      c.set("ctx", as(c.var.ctx, role));
      await next();
    };

  for (const endpoint of sortFixedSegmentsFirst(endpoints)) {
    for (const path of endpoint.paths)
      app.on(endpoint.method, toHonoPath(path), authenticateRequest(endpoint), ...validators(endpoint), (c) =>
        runEndpoint(endpoint, c),
      );
  }
  return app;
}

function createDocumentCache(): DocumentCache {
  let document: Promise<OpenApiDocument> | undefined;
  return (build) => (document ??= build());
}

/** Checks path ids, then access to the resource, then the query (docs/reference/conventions.md#order-of-checks). */
function validators(endpoint: Endpoint): MiddlewareHandler<Env>[] {
  const { query } = endpoint.spec;
  const params = createValidator("param", endpoint.params, async (c, issues) => {
    throw new InvalidInput(toProblems(issues, "path", c.req.param()));
  });
  if (!query) return [params];
  return [
    params,
    rejectUnstorableQuery(endpoint),
    createValidator("query", query, (c, issues) => rejectInput(endpoint, c, toProblems(issues, "query", c.req.query()))),
  ];
}

type OnInvalid = (c: AppContext, issues: z.core.$ZodIssue[]) => Promise<never>;

/** The type of `zValidator` depends on each schema, but the table holds operations with any schema: hence the casts. */
function createValidator(target: "param" | "query", schema: z.ZodType, onInvalid: OnInvalid): MiddlewareHandler<Env> {
  return zValidator(target, schema as z.ZodObject, async (result, c) => {
    if (!result.success) await onInvalid(c as unknown as AppContext, result.error.issues as z.core.$ZodIssue[]);
  }) as unknown as MiddlewareHandler<Env>;
}

const rejectUnstorableQuery =
  (endpoint: Endpoint): MiddlewareHandler<Env> =>
  async (c, next) => {
    const problem = findUnstorable(c.req.queries(), ["query"]);
    if (problem) await rejectInput(endpoint, c, [{ ...problem, loc: problem.loc.slice(0, 2) }]);
    await next();
  };

/** Answers 404 or 403 before the problems of the input: only a caller with access may learn what is wrong with it. */
async function rejectInput(endpoint: Endpoint, c: AppContext, problems: InvalidInput["problems"]): Promise<never> {
  await endpoint.spec.authorize?.(c.var.ctx, paramsOf(c) as never);
  throw new InvalidInput(problems);
}

const validInput = (c: AppContext, target: "param" | "query") => (c.req.valid as (target: string) => object | undefined)(target);
const paramsOf = (c: AppContext) => validInput(c, "param") ?? {};

async function runEndpoint(endpoint: Endpoint, c: AppContext): Promise<Response> {
  const { spec } = endpoint;
  const body = spec.body ? await parseBody(endpoint, spec.body, c) : undefined;
  const { ctx, runtime, openStream, openApiDocument } = c.var;
  const http: HttpExchange = {
    headers: c.req.raw.headers,
    source_ip: c.var.client_address,
    read: (max_bytes) => c.var.body.read(max_bytes),
    readAsset: (name) => runtime.readAsset(name),
    openApiDocument,
    stream: (since, follow) => openStream(c, spec.as, since, follow),
  };
  try {
    const result = await endpoint.run(ctx, { params: paramsOf(c), query: validInput(c, "query"), body, http });
    return result instanceof Response ? result : toResponse(endpoint, result, ctx.settings.budgets.answer_max_bytes);
  } finally {
    if (hasPendingWakeups(ctx.pendingWakeups)) await runtime.relay(ctx);
  }
}

function toResponse({ spec }: Endpoint, result: unknown, max_bytes: number): Response {
  const { value, status, headers } = result instanceof Answer ? result : new Answer(result, spec.status ?? 200, {});
  const schema = status === 202 && spec.accepted ? spec.accepted : spec.returns;
  const { text, shown } = serialize(schema, value, max_bytes);
  const ended = shown === null ? {} : { "X-Limit": String(shown) };
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers, ...ended } });
}

async function parseBody(endpoint: Endpoint, schema: z.ZodType, c: AppContext): Promise<unknown> {
  let input: unknown;
  try {
    input = await readJson(c.var.body);
  } catch (error) {
    await endpoint.spec.authorize?.(c.var.ctx, paramsOf(c) as never);
    throw error;
  }
  const result = await schema.safeParseAsync(input);
  return result.success ? result.data : rejectInput(endpoint, c, toProblems(result.error.issues, "body", input));
}

function methodNotAllowed(endpoints: readonly Endpoint[], c: AppContext): Response | null {
  const path = c.req.path.replace(/(?<=.)\/$/, "");
  const matches = endpoints.filter((endpoint) => endpoint.paths.some((pattern) => toPathRegExp(pattern).test(path)));
  const methods = new Set<Method | "HEAD">(matches.map((endpoint) => endpoint.method));
  if (methods.has("GET")) methods.add("HEAD");
  if (methods.size === 0) return null;
  return json({ detail: "Method Not Allowed" }, 405, { Allow: [...methods].sort().join(", ") });
}
