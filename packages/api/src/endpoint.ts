import type { Actor, Role } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { LockableTable } from "@board/core/db/lock-row";
import type { Cursor } from "@board/core/stream/cursor";
import { Id, lazyObject } from "@board/core/values/wire";
import * as z from "zod";
import type { Answer } from "./edge/answer.ts";
import { placeholderNames } from "./edge/path.ts";
import type { PublicFiles } from "./edge/public-file.ts";
import type { AgentIntent } from "./guidance/hints.ts";
import type { BatchFollow, Follow } from "./runtime.ts";

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** Access to the raw request and response, for the few operations that need more than their schemas provide. */
export interface HttpExchange<A extends Actor = Actor> {
  headers: Headers;
  source_ip: string;
  /** Reads the body. Throws `too_large` if it has more than `max_bytes`. */
  read(max_bytes: number): Promise<Uint8Array>;
  /** Returns the body's bytes as they arrive, for files. Throws `too_large` if there are more than `max_bytes`. */
  chunks(max_bytes: number): AsyncIterable<Uint8Array>;
  /** Reads a static file of the API reference page. */
  readAsset(name: string): Promise<Uint8Array>;
  /** Reads a file of the built console. */
  readConsoleFile(name: string): Promise<Uint8Array>;
  publicFile: PublicFiles;
  /** Aborted when the process stops. A handler that is waiting must then return. */
  shutdown_signal: AbortSignal;
  /**
   * Responds with a stream of events from the source that `follow` returns. It starts after the cursor `after` or, without one,
   * at `since`.
   */
  stream(since: Date | null, follow: Follow<A> | BatchFollow<A>, after?: Cursor | null): Promise<Response>;
}

/** Describes the resource of a write that can be conditional. */
export interface Conditional<A extends Actor, P> {
  table: LockableTable;
  /** The path parameter that contains the id of the locked row. */
  id: keyof P & string;
  /** The schemas and functions of the reads that return this resource. The read at the same path as the write comes first. */
  representations: readonly { schema: z.ZodType; read: (ctx: Context<A>, params: P) => Promise<unknown> }[];
}

type ParamNames<Path extends string> = Path extends `${string}{${infer Param}}${infer Rest}` ? Param | ParamNames<Rest> : never;
type FirstPath<Path> = Path extends readonly [infer One extends string, ...string[]] ? One : Path extends string ? Path : never;
/** The `{placeholders}` of a path as an object type. */
type Params<Path> = { [K in ParamNames<FirstPath<Path>>]: string };

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The statuses that an operation must declare. All other statuses can be derived from its role, path and schemas. */
type OperationErrorStatus = 403 | 404 | 409 | 410 | 422 | 502;

interface Spec<A extends Actor, Path, Q, B, R> {
  /** The callers that may call the operation. The caller is checked before any input is read. */
  as: Role<A>;
  summary: string;
  description?: string;
  query?: Q;
  body?: B;
  returns: R;
  status?: 200 | 202;
  /** The schema of a 202 response, for an operation that may continue in the background. */
  accepted?: z.ZodType;
  /**
   * Statuses that result from the operation's own rules, in addition to those that can be derived from its role, path and input.
   */
  errors?: readonly OperationErrorStatus[];
  /**
   * Checks that the resource exists and is accessible. It runs only if the input is invalid, so that 404 or 403 comes before 422.
   * If the input is valid, the operation itself makes this check, without an extra query.
   */
  authorize?: (ctx: Context<A>, params: Params<Path>) => Promise<unknown>;
  /** If true, path parameters are not validated, and a malformed id leads to 404 instead of 422. */
  lenient_params?: boolean;
  /** The client may send the fence of its lease with the write. The OpenAPI document then shows that header. */
  fenced?: true;
  /** The client may send the expected ETag in If-Match with the write. */
  conditional?: Conditional<A, Params<Path>>;
  /** The operation calls a host or another server while the caller waits, so it must not hold a transaction or a request slot. */
  calls_out?: true;
  /**
   * The operation needs no request slot, either because it answers from memory or because it is a probe that must not wait for
   * other requests.
   */
  in_memory?: true;
  /** Fields of the answer that are shown only once, such as tokens. They are null in a repeated answer. */
  secrets?: readonly string[];
  /** The path of the sign-in metadata, for the header of a 401 response. */
  resource_metadata?: string;
  agent?: AgentIntent;
  operation_id?: string;
  /** The media type of the response, if it is not JSON. */
  media_type?: string;
  /** Further media types that a caller can ask for by a parameter. */
  other_media_types?: readonly string[];
  /** The request's body is a file of any media type, which the handler reads itself. */
  takes_file?: true;
  /** If true, the operation is not in the OpenAPI document. */
  hidden?: boolean;
}

/** One operation, as the router, the validators and the OpenAPI document read it. */
export interface Endpoint {
  method: Method;
  /** Paths with `{placeholders}`. The first is the canonical path, and the others are aliases. */
  paths: readonly string[];
  spec: Spec<Actor, string, z.ZodType | undefined, z.ZodType | undefined, z.ZodType>;
  params: z.ZodType;
  run(ctx: Context, input: { params: object; query: unknown; body: unknown; http: HttpExchange }): Promise<unknown>;
}

/**
 * Declares an operation: method, path, role, schemas, description, and the core function that implements it. The function returns
 * a value of the schema `returns` (the compiler checks this), an Answer with headers, or a complete Response.
 */
export function endpoint<
  const Path extends string | readonly string[],
  A extends Actor,
  R extends z.ZodType,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  method: Method,
  path: Path,
  spec: Spec<A, Path, Q, B, R>,
  run: (
    ctx: Context<A>,
    input: { params: Params<Path>; query: Output<Q>; body: Output<B>; http: HttpExchange<A> },
  ) => Promise<z.output<R> | Answer | Response>,
): Endpoint {
  const paths: readonly string[] = typeof path === "string" ? [path] : path;
  // The specific types of an operation are dropped here and nowhere else, because the table contains operations of all types.
  const erased = { spec, run } as unknown as Pick<Endpoint, "spec" | "run">;
  return { method, paths, params: paramsSchema(paths[0]!, spec.lenient_params ?? false), ...erased };
}

export const isStream = ({ spec }: Endpoint): boolean => spec.media_type === "text/event-stream";

/** Returns the same path under each prefix. */
export const withPrefixes = <const Prefixes extends readonly string[], const Rest extends string>(
  prefixes: Prefixes,
  rest: Rest,
) => prefixes.map((prefix) => prefix + rest) as unknown as { [K in keyof Prefixes]: `${Prefixes[K] & string}${Rest}` };

function paramsSchema(path: string, lenient: boolean): z.ZodObject {
  const toField = (name: string) => (name.endsWith("_id") && !lenient ? Id : z.string()).describe(`${describeParam(name)}.`);
  return lazyObject(() => Object.fromEntries(placeholderNames(path).map((name) => [name, toField(name)])));
}

const describeParam = (name: string) => (name.endsWith("_id") ? `Id of the ${name.slice(0, -3).replaceAll("_", " ")}` : name);
