import { toJson } from "@board/core/values/json";
import type { MiddlewareHandler } from "hono";
import { parseAccept } from "hono/utils/accept";
import { jsonResponse } from "./representation.ts";

const PROBLEM = "application/problem+json";
const JSON_TYPE = "application/json";

/** The body of an error in the form for clients that do not ask for problem details. */
interface ErrorBody extends Record<string, unknown> {
  detail: string | FieldProblem[] | ({ message?: string } & Record<string, unknown>);
}
interface FieldProblem {
  loc: (string | number)[];
  msg: string;
}

/** Turns errors into problem details (RFC 9457) for clients that ask for them (docs/reference/conventions.md#problem-details). */
export const problemDetails: MiddlewareHandler = async (c, next) => {
  await next();
  const { status, headers } = c.res;
  if (status < 400 || headers.get("content-type") !== JSON_TYPE || !prefersProblem(c.req.header("accept"))) return;
  const body = JSON.parse(await c.res.clone().text()) as ErrorBody;
  // A JSON-RPC error and a failed readiness check have no `detail` and are not changed.
  if (body.detail === undefined) return;
  c.res = undefined;
  c.res = jsonResponse(toJson(toProblem(body, status)), status, { ...Object.fromEntries(headers), "content-type": PROBLEM });
};

/** Returns whether Accept lists problem details and does not prefer plain JSON to them. */
function prefersProblem(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const qualityOf = (type: string) => parseAccept(accept).find((part) => part.type.toLowerCase() === type)?.q ?? 0;
  const quality = qualityOf(PROBLEM);
  return quality > 0 && quality >= qualityOf(JSON_TYPE);
}

/**
 * Returns the reason phrase of a status. node:http is not imported, because an import reads all its exports, one of which loads
 * fetch and WebSocket.
 */
const titleOf = (status: number): string => process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "Error";

/** Converts an error to problem details. Its fields become extension members, but the standard members take precedence. */
function toProblem({ detail, ...others }: ErrorBody, status: number): object {
  const standard = { type: "about:blank", title: titleOf(status), status };
  if (typeof detail === "string") return { ...others, ...standard, detail };
  if (Array.isArray(detail)) return { ...others, errors: detail, ...standard, detail: summarize(detail) };
  const { message, ...fields } = detail;
  return { ...others, ...fields, ...standard, detail: message };
}

/** The maximum number of problems that the text lists. A body can have many more. */
const MAX_NAMED = 5;

function summarize(problems: readonly FieldProblem[]): string {
  const named = problems.slice(0, MAX_NAMED).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  const more = problems.length - named.length;
  return `The input is not valid. ${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}
