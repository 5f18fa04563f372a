import type { Log } from "@board/core/values/log";
import { toErrorResponse } from "../edge/errors.ts";
import { AGENT_STEPS_BY_CODE, STEPS_BY_STATUS } from "../guidance/refusals.ts";

const CODES: Readonly<Record<number, string>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  410: "gone",
  413: "too_large",
  422: "invalid_input",
  429: "too_many_requests",
  500: "internal_error",
  502: "unavailable",
  503: "unavailable",
};

/** The maximum number of problems that a message lists. A body can have many more. */
const MAX_PROBLEMS = 5;

type Detail = string | Problem[] | ({ message?: string; code?: string } & Record<string, unknown>);
interface Problem {
  loc: (string | number)[];
  msg: string;
}

/** A refusal in the form in which the caller of a tool gets it. */
export interface ToolError {
  status: number;
  code: string;
  message: string;
  next: string;
}

/** Converts a thrown error to the answer that the API would give, and adds the next step. */
export async function toToolError(error: unknown, toAgent: boolean, log: Log): Promise<ToolError> {
  const response = toErrorResponse(error, toAgent, log);
  const { status } = response;
  const { detail } = (await response.json()) as { detail: Detail };
  const { message, code: given, ...fields } = toParts(detail);
  const code = given ?? CODES[status] ?? "error";
  const wait = response.headers.get("retry-after");
  const next = (toAgent && AGENT_STEPS_BY_CODE[code]) || STEPS_BY_STATUS[status] || "Read the message.";
  return { status, code, message, next: wait ? `${next} Wait ${wait} seconds.` : next, ...fields };
}

function toParts(detail: Detail): { message: string; code?: string } {
  if (typeof detail === "string") return { message: detail };
  if (!Array.isArray(detail)) return { ...detail, message: detail.message ?? "Refused" };
  const problems = detail.slice(0, MAX_PROBLEMS).map(({ loc, msg }) => `${loc.slice(1).join(".") || "arguments"}: ${msg}`);
  return { message: problems.join("; ") };
}
