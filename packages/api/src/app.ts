import { limitRequests } from "@board/core/agent/request-limit";
import { as, type Context } from "@board/core/context/context";
import { DomainError, notFound } from "@board/core/values/errors";
import { createScopedLog } from "@board/core/values/log";
import { openOnce } from "@board/core/values/open-once";
import { reportLimit } from "@board/core/values/request-limits";
import { toUsedAddress } from "@board/core/config/service-url";
import { createPrefetchedBoard } from "@board/core/context/prefetched-board";
import { hasPendingWakeups } from "@board/core/context/pending-wakeups";
import { traced } from "@board/core/context/tracer";
import { Id } from "@board/core/values/wire";
import { type Context as HonoContext, Hono, type MiddlewareHandler } from "hono";
import { toCounterKey } from "@board/core/db/rate-limit";
import type { StoredAnswer } from "@board/core/idempotency/idempotency";
import { Answer, serialize } from "./edge/answer.ts";
import { createClientAddressResolver } from "./edge/client-address.ts";
import { authenticate, isSuspect, resumeOrganization, withCurrentRole } from "./sign-in/authenticate.ts";
import { createRequestBody } from "./edge/body.ts";
import { createBodyBudget } from "./edge/body-budget.ts";
import { limitRequestsOfCaller } from "./edge/caller-limit.ts";
import { cors } from "./edge/cors.ts";
import { type Endpoint, type HttpExchange, isStream, type Method } from "./endpoint.ts";
import { json, toErrorResponse } from "./edge/errors.ts";
import { toEntityTag } from "./edge/etag.ts";
import { createKnownRequests, type KnownRequests, runOnce, toRepeatableRequest } from "./edge/idempotency.ts";
import { createValidators, readInput } from "./edge/input.ts";
import { linkHeaders } from "./edge/link.ts";
import { actorLogFields, pathLogFields, requestAttributes, requestId, requestLog, securityHeaders } from "./edge/middleware.ts";
import { sortFixedSegmentsFirst, toHonoPath, toPathRegExp } from "./edge/path.ts";
import { withPrecondition } from "./edge/precondition.ts";
import { problemDetails } from "./edge/problem-details.ts";
import { createPublicFiles } from "./edge/public-file.ts";
import { createRequestQueue, RequestSlot } from "./edge/request-slot.ts";
import type { App, Env, Runtime } from "./runtime.ts";
import { requireAllowedToKey } from "./edge/key-access.ts";
import { requireAllowedToRun } from "./edge/run-token.ts";
import { rateLimitHeaders } from "./edge/rate-limit-headers.ts";
import { jsonResponse, representation } from "./edge/representation.ts";
import { createStreamOpener } from "./stream/streams.ts";
import { confirmStrictness } from "./edge/strictness.ts";
import { traceIdOf } from "./edge/trace-id.ts";
import { mountAccounts } from "./edge/accounts.ts";
import { requireOwnOrigin } from "./sign-in/session-cookie.ts";
import { createUserVerifier } from "./sign-in/user-verifier.ts";

type AppContext = HonoContext<Env>;

/**
 * Creates the HTTP service: with all operations for the local server and the tests, or with one group of them for that group's
 * Lambda function.
 */
export function createApp(runtime: Runtime, endpoints: readonly Endpoint[]): App {
  const app = new Hono<Env>({ strict: false });
  const { settings } = runtime;
  const log = runtime.createContext().log;
  const accounts = runtime.openAccounts && openOnce(runtime.openAccounts);
  const verifyUser = createUserVerifier(settings, log, accounts);
  const resolveAddress = createClientAddressResolver(settings.trusted_proxies, log, runtime.recordUntrustedProxy);
  const openStream = createStreamOpener(runtime, verifyUser);
  const publicFile = createPublicFiles();
  const queue = createRequestQueue(runtime);
  const bodyBudget = createBodyBudget(settings.budgets);
  const limitCaller = limitRequestsOfCaller(settings.budgets);
  const known = createKnownRequests();

  app.use(requestId, async (c, next) => {
    c.set("runtime", runtime);
    c.set("openStream", openStream);
    c.set("publicFile", publicFile);
    const slot = new RequestSlot(queue);
    c.set("slot", slot);
    c.set("client_address", resolveAddress(runtime.peerAddress(c), c.req.raw.headers));
    const ctx = runtime.createContext();
    const { request_id } = c.var;
    const trace_id = traceIdOf(c.req.raw.headers, request_id);
    const fields = { request_id, trace_id, method: c.req.method, path: c.req.path };
    const client = { address: c.var.client_address, user_agent: c.req.header("user-agent") ?? null };
    c.set("ctx", { ...ctx, trace_id, client, log: createScopedLog(ctx.log, fields), releaseSlot: () => slot.end() });
    const body = createRequestBody(c.req.raw, bodyBudget, toCounterKey(c.var.client_address));
    c.set("body", body);
    try {
      await traced(ctx, { name: c.req.method, kind: "server", trace_id }, async (span) => {
        await next();
        span.set(requestAttributes(c));
      });
    } finally {
      slot.end();
      body.release();
    }
  });
  app.use(
    requestLog,
    securityHeaders(settings.security_headers),
    cors(settings, log),
    representation,
    rateLimitHeaders,
    problemDetails,
  );
  app.onError((error, c) => {
    if (error instanceof DomainError && error.extra.limit) reportLimit(c.var.ctx.limits, error.extra.limit);
    const response = toErrorResponse(error, c.var.ctx.actor.type === "agent", c.var.ctx.log);
    const { resource_metadata } = c.var;
    if (response.status === 401 && resource_metadata) response.headers.set("WWW-Authenticate", resource_metadata);
    return response;
  });
  app.notFound((c) => methodNotAllowed(endpoints, c) ?? toErrorResponse(notFound(), false, c.var.ctx.log));

  const authenticateRequest =
    (endpoint: Endpoint): MiddlewareHandler<Env> =>
    async (c, next) => {
      c.set("route", endpoint.paths[0]!);
      const { as: role, resource_metadata } = endpoint.spec;
      const { service_url } = c.var.ctx.settings;
      if (resource_metadata) {
        const used = toUsedAddress({ service_url }, c.req.header("host"));
        c.set("resource_metadata", `Bearer resource_metadata="${used}${resource_metadata}"`);
      }
      const resource = resource_metadata ? `${service_url}${endpoint.paths[0]}` : null;
      c.var.ctx.log.addFields(pathLogFields(c));
      // The board of a stream is not prefetched, because a stream checks access itself, both now and at every poll.
      const board_id = isStream(endpoint) ? undefined : Id.safeParse(c.req.param("board_id")).data;
      if (board_id !== undefined) c.set("ctx", { ...c.var.ctx, prefetched_board: createPrefetchedBoard(board_id) });
      requireOwnOrigin(c.req.method, c.req.raw.headers, settings);
      if (isSuspect(c.var.ctx, c.var.client_address)) await c.var.slot.take(c.var.ctx, c.var.client_address);
      const actor = await authenticate(c.var.ctx, { role, resource }, c.req.raw.headers, c.var.client_address, verifyUser);
      c.var.slot.end();
      // The actor is stored before the role is checked, because agents and people get different forms of a 403 response.
      c.set("ctx", { ...c.var.ctx, actor });
      if (isStream(endpoint)) c.set("ctx", { ...c.var.ctx, actor: await resumeOrganization(c.var.ctx, role, c.req.raw.headers) });
      // In the log, the board in the path replaces the agent's own board, because a main agent works on several boards.
      c.var.ctx.log.addFields({ ...actorLogFields(c.var.ctx.actor, role), ...pathLogFields(c) });
      if (actor.type === "agent") await limitRequests(c.var.ctx, actor);
      requireAllowedToRun(endpoint, actor, c.req.param());
      requireAllowedToKey(endpoint, actor);
      c.set("ctx", as(c.var.ctx, role));
      await next();
    };

  if (accounts) mountAccounts(app, accounts);
  for (const endpoint of sortFixedSegmentsFirst(endpoints)) {
    const limitConcurrency = isHeld(endpoint, runtime) ? proceed : limitCaller(endpoint.spec.as);
    for (const path of endpoint.paths)
      app.on(
        endpoint.method,
        toHonoPath(path),
        limitConcurrency,
        authenticateRequest(endpoint),
        confirmStrictness(endpoint),
        ...createValidators(endpoint),
        (c) => runEndpoint(endpoint, c, known),
      );
  }
  return app;
}

const proceed: MiddlewareHandler<Env> = (_, next) => next();

/** Returns whether the response waits for its first event. It then counts as an open stream and takes no request slot. */
const isHeld = (endpoint: Endpoint, { streams }: Runtime) => isStream(endpoint) && (streams.hold_seconds ?? 0) > 0;

const takesSlot = (endpoint: Endpoint, runtime: Runtime): boolean =>
  !endpoint.spec.in_memory && !endpoint.spec.calls_out && !isHeld(endpoint, runtime);

/**
 * How long, in milliseconds, a request may use the role that the authentication read, while its body arrives. After that, the
 * role is read again. So only slow bodies cost another query, and lost rights still end within two seconds.
 */
const FRESH_MS = 1_000;

async function runEndpoint(endpoint: Endpoint, c: AppContext, known: KnownRequests): Promise<Response> {
  const { spec } = endpoint;
  const authenticated_at = performance.now();
  const { params, query, body, sent } = await readInput(endpoint, c);
  const { headers } = c.req.raw;
  if (performance.now() - authenticated_at > FRESH_MS) c.set("ctx", await withCurrentRole(c.var.ctx, spec.as, headers));
  const { ctx, runtime, openStream, publicFile, slot } = c.var;
  const http: HttpExchange = {
    headers,
    source_ip: c.var.client_address,
    read: (max_bytes) => slot.pauseDuring(() => c.var.body.read(max_bytes)),
    chunks: (max_bytes) => c.var.body.chunks(max_bytes),
    readAsset: (name) => runtime.readAsset(name),
    readConsoleFile: (name) => runtime.readConsoleFile(name),
    publicFile,
    shutdown_signal: runtime.streams.shutdown_signal,
    stream: (since, follow, after) => openStream(c, spec.as, since, follow, after),
  };
  if (takesSlot(endpoint, runtime)) await slot.take(ctx, c.var.client_address, c.req.param("board_id"));
  const run = (ctx: Context) => endpoint.run(ctx, { params, query, body, http });
  const authorize = spec.authorize && (async () => spec.authorize!(ctx, params as never));
  const toAnswer = (result: unknown) => toStoredAnswer(endpoint, result, ctx.settings.budgets.answer_max_bytes);
  try {
    const request = toRepeatableRequest(endpoint, ctx, headers, [params, c.req.queries(), sent]);
    if (request)
      return toResponse(
        await runOnce(
          ctx,
          request,
          { known, calls_out: spec.calls_out ?? false, authorize, secrets: spec.secrets ?? [], toAnswer },
          run,
        ),
      );
    const result = await run(withPrecondition(ctx, endpoint, headers, params));
    if (result instanceof Response) return result;
    return toResponse(toAnswer(result), linkHeaders(result, c.req.url, ctx.settings.base_url));
  } finally {
    if (endpoint.method !== "GET") noteChange(runtime, ctx);
    if (hasPendingWakeups(ctx.pendingWakeups)) await runtime.relay(ctx);
  }
}

/**
 * Reports a change to the open streams of the organization. The board in the path comes first, because a user may have several
 * organizations.
 */
function noteChange({ changes }: Runtime, { actor, prefetched_board }: Context): void {
  const organization_id =
    prefetched_board?.organization_id ??
    (actor.type === "agent" ? actor.organization_id : actor.type === "user" ? actor.active?.organization_id : null);
  if (organization_id) changes?.note(organization_id);
}

function toStoredAnswer({ method, spec }: Endpoint, result: unknown, max_bytes: number): StoredAnswer {
  const { value, status, headers } = result instanceof Answer ? result : new Answer(result, spec.status ?? 200, {});
  const schema = status === 202 && spec.accepted ? spec.accepted : spec.returns;
  const { text, shown } = serialize(schema, value, max_bytes);
  const ended = shown === null ? {} : { "X-Limit": String(shown) };
  const tag = method === "PATCH" && spec.conditional ? { ETag: toEntityTag(text) } : {};
  return { status, headers: { ...headers, ...ended, ...tag }, text };
}

const toResponse = ({ text, status, headers }: StoredAnswer, links: Record<string, string> = {}): Response =>
  jsonResponse(text, status, { ...links, ...headers });

function methodNotAllowed(endpoints: readonly Endpoint[], c: AppContext): Response | null {
  const path = c.req.path.replace(/(?<=.)\/$/, "");
  const matches = endpoints.filter((endpoint) => endpoint.paths.some((pattern) => toPathRegExp(pattern).test(path)));
  const methods = new Set<Method | "HEAD">(matches.map((endpoint) => endpoint.method));
  if (methods.has("GET")) methods.add("HEAD");
  if (methods.size === 0) return null;
  return json({ detail: "Method Not Allowed" }, 405, { Allow: [...methods].sort().join(", ") });
}
