import { isDeepStrictEqual } from "node:util";
import { toPathRegExp } from "@board/api/edge/path";
import type { Endpoint } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import type { World } from "./world.ts";

export interface CallOptions {
  /** A person's access token. */
  token?: string;
  /** An agent's token, sent as X-Agent-Token. */
  agent?: string;
  body?: unknown;
  /** A raw body instead of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // Tests read answers of every shape and assert what they read.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** Returns the status and the body of an answer. */
export const statusAndBody = ({ status, body }: { status: number; body: unknown }): unknown[] => [status, body];

/** Returns the body of a refusal by role or board. */
export const forbidden = (message: string) => ({ detail: { code: "forbidden", message }, code: "forbidden", retryable: false });

/** Checks whether the service accepts the token of an agent. */
export const isAccepted = async (world: World, token: string): Promise<boolean> =>
  (await world.call("GET", "/api/v1/agent/healthz", { agent: token })).status === 200;

/** Sends a request through `send`, which works like fetch. Every successful answer is validated against its documented schema. */
export async function call(
  send: (path: string, init: RequestInit) => Response | Promise<Response>,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.token) headers["authorization"] = `Bearer ${options.token}`;
  if (options.agent) headers["x-agent-token"] = options.agent;
  if (options.body !== undefined) headers["content-type"] ??= "application/json";
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await send(path, { method, headers, ...(body === undefined ? {} : { body: body as string }) });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const parsed: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
  if (response.ok && isJson && method !== "HEAD") checkSchema(method, path, response.status, parsed);
  return { status: response.status, headers: response.headers, text, body: parsed };
}

/** The operations by method, with their paths as regular expressions. They are made once, because most answers are checked. */
const operations = Map.groupBy(
  endpoints.map((endpoint) => ({ endpoint, patterns: endpoint.paths.map(toPathRegExp) })),
  ({ endpoint }) => endpoint.method,
);

/** Returns the operation of a request. */
export function endpointOf(method: string, path: string): Endpoint | undefined {
  const bare = path.split("?", 1)[0]!.replace(/(?<=.)\/$/, "");
  const ofMethod = (operations as ReadonlyMap<string, { endpoint: Endpoint; patterns: RegExp[] }[]>).get(method) ?? [];
  const candidates = ofMethod.filter(({ patterns }) => patterns.some((pattern) => pattern.test(bare)));
  return (candidates.find(({ endpoint }) => endpoint.paths.includes(bare)) ?? candidates[0])?.endpoint;
}

function checkSchema(method: string, path: string, status: number, body: unknown): void {
  const endpoint = endpointOf(method, path);
  if (!endpoint) throw new Error(`${method} ${path} answered, but is not in the route table`);
  const { returns, accepted } = endpoint.spec;
  const result = ((status === 202 && accepted) || returns).safeParse(body);
  if (!result.success) throw new Error(`${method} ${path} does not answer with its schema: ${result.error.message}`);
  if (!isDeepStrictEqual(result.data, body))
    throw new Error(`${method} ${path} answers with more than its schema: ${JSON.stringify(body)}`);
}
