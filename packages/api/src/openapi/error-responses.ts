import * as z from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

/** The error responses, as components of the OpenAPI document (docs/reference/conventions.md#errors). */

const Refusal = z
  .object({
    detail: z
      .union([
        z.string(),
        z.looseObject({
          message: z.string().describe("What went wrong."),
          code: z.string().optional().describe("Machine-readable code, for rules that have one."),
        }),
      ])
      .describe("What went wrong, as text or as an object with a message and further fields."),
    code: z.literal("forbidden").optional().describe("Present in a 403 to an agent."),
    retryable: z.literal(false).optional().describe("Present in a 403 to an agent: repeating the request does not help."),
  })
  .meta({ id: "Refusal", description: "Why a request was rejected." });

const FieldProblem = z
  .object({
    type: z.string().describe("Kind of problem."),
    loc: z
      .array(z.union([z.string(), z.int()]))
      .describe("Location of the problem: `body`, `query` or `path`, followed by the path of the field."),
    msg: z.string().describe("What is wrong."),
    input: z.unknown().describe("The invalid value."),
  })
  .meta({ id: "FieldProblem", description: "A field that is not valid." });

const InvalidInput = z
  .object({
    detail: z
      .union([
        z.string(),
        z.looseObject({
          message: z.string().describe("The rule that was broken."),
          code: z.string().optional().describe("Machine-readable code, for rules that have one."),
        }),
        z.array(FieldProblem),
      ])
      .describe("The rule that was broken, or a list of all invalid fields."),
  })
  .meta({ id: "InvalidInput", description: "The input is not valid." });

const REQUEST_ID = z.string().describe("Id of the request in the service's log.");
const RETRY_AFTER = z.string().describe("Seconds after which the request may be repeated, as a whole number.");

const RATE_LIMIT_POLICY = z
  .string()
  .optional()
  .describe("The limits that the request counted toward, in the form of the IETF draft.");
const RATE_LIMIT = z.string().optional().describe("What remains of each limit, and the seconds until more is available.");

const errorResponse = (
  id: string,
  description: string,
  schema: z.ZodType = Refusal,
  retry = false,
  more: Record<string, z.ZodType> = {},
): ZodOpenApiResponseObject => ({
  id,
  description,
  headers: z.object({ "X-Request-Id": REQUEST_ID, ...(retry ? { "Retry-After": RETRY_AFTER } : {}), ...more }),
  content: { "application/json": { schema } },
});

/** The responses by status. Each is one component, which all operations share. */
export const ERROR_RESPONSES: Readonly<Record<number, ZodOpenApiResponseObject>> = {
  304: {
    id: "NotModified",
    description: "Nothing has changed since the answer whose ETag the client sent as If-None-Match.",
    headers: z.object({ ETag: z.string().describe("The tag that was sent.") }),
  },
  400: errorResponse("BadRequest", "The request cannot be read, or ended before its body was complete."),
  401: errorResponse("Unauthenticated", "The credential is missing or not valid."),
  403: errorResponse("Forbidden", "The caller lacks the permission."),
  404: errorResponse("NotFound", "The resource does not exist or is not visible to the caller."),
  408: errorResponse("BodyTimeout", "The body did not arrive in time."),
  409: errorResponse("Conflict", "The request conflicts with the current state."),
  410: errorResponse("Gone", "The webhook is disabled."),
  412: errorResponse("PreconditionFailed", "The resource has changed since the ETag in If-Match; see ETag."),
  413: errorResponse("TooLarge", "The body is too large."),
  422: errorResponse("InvalidInput", "The input is not valid.", InvalidInput),
  429: errorResponse(
    "TooManyRequests",
    "Too many requests, failed attempts, posts or open streams; see Retry-After.",
    Refusal,
    true,
    { "RateLimit-Policy": RATE_LIMIT_POLICY, RateLimit: RATE_LIMIT },
  ),
  502: errorResponse("GatewayFailed", "A host or server that the operation needs is unreachable or returned an error."),
  503: errorResponse(
    "Unavailable",
    "The database or the identity provider cannot be reached, a secret cannot be decrypted, or the service is overloaded; see Retry-After.",
    Refusal,
    true,
  ),
};
