import { InvalidInput } from "@board/core/values/errors";
import { zValidator } from "@hono/zod-validator";
import type { Context as HonoContext, MiddlewareHandler } from "hono";
import type * as z from "zod";
import { findUnstorable, readJson } from "./body.ts";
import type { Endpoint } from "../endpoint.ts";
import { toProblems } from "./problems.ts";
import type { Env } from "../runtime.ts";
import { findUnknownFields, findUnknownParameters, isStrict, NO_KEYS } from "./strictness.ts";

type AppContext = HonoContext<Env>;

/** The valid input of a request. */
export interface Input {
  params: object;
  query: object | undefined;
  body: unknown;
  /** The body as the client sent it; null if there is none. */
  sent: unknown;
}

/** Checks path ids, then access to the resource, then the query (docs/reference/conventions.md#order-of-checks). */
export function createValidators(endpoint: Endpoint): MiddlewareHandler<Env>[] {
  const { query } = endpoint.spec;
  const params = createValidator("param", endpoint.params, async (c, issues) => {
    throw new InvalidInput(toProblems(issues, "path", c.req.param()));
  });
  const strictness = rejectUnknownParameters(endpoint);
  if (!query) return [params, strictness];
  return [
    params,
    rejectUnstorableQuery(endpoint),
    createValidator("query", query, (c, issues) =>
      rejectInput(endpoint, c, [...toProblems(issues, "query", c.req.query()), ...findUnknownParameters(endpoint, c.req)]),
    ),
    strictness,
  ];
}

type OnInvalid = (c: AppContext, issues: z.core.$ZodIssue[]) => Promise<never>;

/** Creates a validator. It needs casts, because the type of `zValidator` depends on the schema, and endpoints have any schema. */
function createValidator(target: "param" | "query", schema: z.ZodType, onInvalid: OnInvalid): MiddlewareHandler<Env> {
  return zValidator(target, schema as z.ZodObject, async (result, c) => {
    if (!result.success) await onInvalid(c as unknown as AppContext, result.error.issues as z.core.$ZodIssue[]);
  }) as unknown as MiddlewareHandler<Env>;
}

const rejectUnknownParameters =
  (endpoint: Endpoint): MiddlewareHandler<Env> =>
  async (c, next) => {
    const problems = findUnknownParameters(endpoint, c.req);
    if (problems.length > 0) await rejectInput(endpoint, c, problems);
    await next();
  };

const rejectUnstorableQuery =
  (endpoint: Endpoint): MiddlewareHandler<Env> =>
  async (c, next) => {
    const problem = findUnstorable(c.req.queries(), ["query"]);
    if (problem) await rejectInput(endpoint, c, [{ ...problem, loc: problem.loc.slice(0, 2) }]);
    await next();
  };

/**
 * Answers 404 or 403 before reporting problems of the input, because only a caller with access may learn what is wrong with it.
 */
async function rejectInput(endpoint: Endpoint, c: AppContext, problems: InvalidInput["problems"]): Promise<never> {
  await endpoint.spec.authorize?.(c.var.ctx, paramsOf(c) as never);
  throw new InvalidInput(problems);
}

/** Reads the params and query that the validators have stored in the request, and then its body. */
export async function readInput(endpoint: Endpoint, c: AppContext): Promise<Input> {
  // Without a schema, the body is read only if the client wants unknown keys to be refused.
  const isEmpty = endpoint.method !== "GET" && !endpoint.spec.takes_file && isStrict(endpoint, c.req);
  const schema = endpoint.spec.body ?? (isEmpty ? NO_KEYS : undefined);
  const { sent, body } = schema ? await parseBody(endpoint, schema, c) : { sent: null, body: undefined };
  return { params: paramsOf(c), query: validInput(c, "query"), body, sent };
}

async function parseBody(endpoint: Endpoint, schema: z.ZodType, c: AppContext): Promise<{ sent: unknown; body: unknown }> {
  let input: unknown;
  try {
    input = await readJson(c.var.body);
  } catch (error) {
    await endpoint.spec.authorize?.(c.var.ctx, paramsOf(c) as never);
    throw error;
  }
  const result = await schema.safeParseAsync(input);
  const unknown = isStrict(endpoint, c.req) ? findUnknownFields(schema, input) : [];
  if (result.success && unknown.length === 0) return { sent: input, body: result.data };
  return rejectInput(endpoint, c, [...toProblems(result.error?.issues ?? [], "body", input, fieldsOf(schema)), ...unknown]);
}

const fieldsOf = (schema: z.ZodType): string[] => ("shape" in schema ? Object.keys(schema.shape as object) : []);

const validInput = (c: AppContext, target: "param" | "query") => (c.req.valid as (target: string) => object | undefined)(target);
const paramsOf = (c: AppContext) => validInput(c, "param") ?? {};
