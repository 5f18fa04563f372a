import * as z from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

/** The answers to what cannot be done, as components of the OpenAPI document (contract conventions.md §4). */

const Refusal = z
  .object({
    detail: z
      .union([
        z.string(),
        z.looseObject({
          message: z.string().describe("What went wrong."),
          code: z.string().optional().describe("A word for programs, where the rule has one."),
        }),
      ])
      .describe("What went wrong, as a text or as an object with a message and what belongs to it."),
    code: z.literal("forbidden").optional().describe("In a 403 to an agent."),
    retryable: z.literal(false).optional().describe("In a 403 to an agent: the same request will not do better later."),
  })
  .meta({ id: "Refusal", description: "Why a request is refused." });

const FieldProblem = z
  .object({
    type: z.string().describe("Kind of problem."),
    loc: z.array(z.union([z.string(), z.int()])).describe("Where: body, query or path, then the field."),
    msg: z.string().describe("What is wrong."),
    input: z.unknown().describe("The offending value."),
  })
  .meta({ id: "FieldProblem", description: "A field that does not fit." });

const InvalidInput = z
  .object({
    detail: z
      .union([
        z.string(),
        z.looseObject({
          message: z.string().describe("The rule that was broken."),
          code: z.string().optional().describe("A word for programs, where the rule has one."),
        }),
        z.array(FieldProblem),
      ])
      .describe("A broken rule, or every field that does not fit."),
  })
  .meta({ id: "InvalidInput", description: "Input that cannot be taken." });

const REQUEST_ID = z.string().describe("Names the request in the service's log.");
const RETRY_AFTER = z.string().describe("Whole seconds after which a repeat may succeed.");

const failure = (id: string, description: string, schema: z.ZodType = Refusal, retry = false): ZodOpenApiResponseObject => ({
  id,
  description,
  headers: z.object({ "X-Request-Id": REQUEST_ID, ...(retry ? { "Retry-After": RETRY_AFTER } : {}) }),
  content: { "application/json": { schema } },
});

/** By status. Each is one component, however many operations answer with it. */
export const FAILURES: Readonly<Record<number, ZodOpenApiResponseObject>> = {
  401: failure("Unauthenticated", "No, bad or unknown credential"),
  403: failure("Forbidden", "Not allowed"),
  404: failure("NotFound", "Absent, or not visible to the caller"),
  409: failure("Conflict", "Conflicts with what is there"),
  410: failure("Gone", "The webhook is disabled"),
  413: failure("TooLarge", "The body is too large"),
  422: failure("InvalidInput", "The input cannot be taken", InvalidInput),
  429: failure("TooManyRequests", "Too many failing attempts or posts; see Retry-After", Refusal, true),
  502: failure("GatewayFailed", "The host that had to be asked cannot be reached, or refused"),
};
