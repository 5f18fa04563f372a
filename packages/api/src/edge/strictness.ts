import type { FieldProblem } from "@board/core/values/errors";
import type { HonoRequest, MiddlewareHandler } from "hono";
import * as z from "zod";
import type { Endpoint } from "../endpoint.ts";
import { prefersStrict } from "./prefer.ts";
import { toUnknownKeyProblems } from "./problems.ts";
import type { Env } from "../runtime.ts";
import { findUnknownKeys } from "./unknown-keys.ts";
import { lazyObject } from "@board/core/values/wire";

/** The schema of the body of an operation that takes no body. */
export const NO_KEYS = lazyObject(() => ({}));

/**
 * Returns whether unknown parameters and body keys of a request are refused (docs/reference/conventions.md#strict-handling).
 * Webhook ingestion and MCP accept any keys.
 */
export const isStrict = ({ spec }: Endpoint, request: HonoRequest): boolean =>
  !spec.lenient_params && !spec.hidden && prefersStrict(request.raw.headers);

/**
 * Returns the problems of query parameters that an operation does not know, if the client wants such parameters to be refused.
 */
export function findUnknownParameters(endpoint: Endpoint, request: HonoRequest): FieldProblem[] {
  if (!isStrict(endpoint, request)) return [];
  const input = request.query();
  return toUnknownKeyProblems(findUnknownKeys(endpoint.spec.query ?? NO_KEYS, input), "query", input);
}

export const findUnknownFields = (schema: z.ZodType, input: unknown): FieldProblem[] =>
  toUnknownKeyProblems(findUnknownKeys(schema, input), "body", input);

/** Sets a header that confirms that the client's preference was followed, even if the request is refused. */
export const confirmStrictness =
  (endpoint: Endpoint): MiddlewareHandler<Env> =>
  async (c, next) => {
    await next();
    if (isStrict(endpoint, c.req)) c.res.headers.append("Preference-Applied", "handling=strict");
  };
