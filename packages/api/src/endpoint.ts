import type { Actor, Role } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { Id } from "@board/core/wire";
import * as z from "zod";
import type { Follow, FollowTogether } from "./streams.ts";

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** What an agent is told about an operation in the OpenAPI document (contract agents.md §9). */
export interface AgentHints {
  /** Which agents may call it. */
  roles: readonly ("main" | "lead" | "worker")[];
  intent: string;
  when_to_use: readonly string[];
  when_not_to_use: readonly string[];
  prerequisites: readonly string[];
  side_effects: readonly string[];
  negative_guidance: readonly string[];
  routing_policy: readonly string[];
  required_actor: "any_agent" | "board_lead" | "agent_main";
  examples: readonly { input: { intent: string } & Record<string, unknown>; decision: string }[];
}

/** The request and the ways to answer it, for the few operations that need more than their schemas give. */
export interface Http<A extends Actor = Actor> {
  headers: Headers;
  source_ip: string;
  /** The body's bytes; throws `too_large` beyond `max_bytes`. */
  read(max_bytes: number): Promise<Uint8Array>;
  /** A static file of the reference page. */
  asset(name: string): Promise<Uint8Array>;
  /** Answers with a stream of what `follow` names, from `since` on. */
  stream(since: Date | null, follow: Follow<A> | FollowTogether<A>): Promise<Response>;
}

type Name<Path extends string> = Path extends `${string}{${infer Param}}${infer Rest}` ? Param | Name<Rest> : never;
type First<Path> = Path extends readonly [infer One extends string, ...string[]] ? One : Path extends string ? Path : never;
/** The `{placeholders}` of a path as an object type. */
export type Params<Path> = { [K in Name<First<Path>>]: string };

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

/** Of the rest is known from what an operation declares anyway. */
type OwnError = 403 | 404 | 409 | 422 | 502;

interface Spec<A extends Actor, Path, Q, B, R> {
  /** Who may call it; decided before any input is read. */
  as: Role<A>;
  summary: string;
  description?: string;
  query?: Q;
  body?: B;
  returns: R;
  status?: 200 | 202;
  /** What is answered with 202 where the work may go on after the answer. */
  later?: z.ZodType;
  /** Statuses that the operation's own rules lead to, beside those that its role, its path and its input imply. */
  errors?: readonly OwnError[];
  /**
   * What must exist and be reachable before the input is judged: run when the input is bad, to answer 404 or 403 first.
   * With good input the operation itself checks the same, in the statement it needs anyway.
   */
  reaches?: (ctx: Context<A>, params: Params<Path>) => Promise<unknown>;
  /** Path parameters are passed as they are: ill-formed ones exist nowhere instead of being 422. */
  lenient_params?: boolean;
  agent?: AgentHints;
  operation_id?: string;
  /** Media type of the answer when it is not JSON. */
  media_type?: string;
  /** Left out of the OpenAPI document. */
  hidden?: boolean;
}

/** One operation: all that the router, the checks and the OpenAPI document know of it. */
export interface Endpoint {
  method: Method;
  /** With `{placeholders}`; the first is the canonical one, the others answer the same. */
  paths: readonly string[];
  spec: Spec<Actor, string, z.ZodType | undefined, z.ZodType | undefined, z.ZodType>;
  params: z.ZodType;
  run(ctx: Context, input: { params: object; query: unknown; body: unknown; http: Http }): Promise<unknown>;
}

/**
 * Declares an operation in one place: method, path, role, schemas, description, and the core function that does it.
 * The function returns what `returns` describes (or a whole Response); nothing is validated twice.
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
    input: { params: Params<Path>; query: Output<Q>; body: Output<B>; http: Http<A> },
  ) => Promise<z.output<R> | Response>,
): Endpoint {
  const paths: readonly string[] = typeof path === "string" ? [path] : path;
  // The one place where an operation's own types are given up: the table holds operations of every type.
  const erased = { spec, run } as unknown as Pick<Endpoint, "spec" | "run">;
  return { method, paths, params: paramsSchema(paths[0]!, spec.lenient_params ?? false), ...erased };
}

export const isStream = ({ spec }: Endpoint): boolean => spec.media_type === "text/event-stream";

/** The same path under several prefixes. */
export const under = <const Prefixes extends readonly string[], const Rest extends string>(prefixes: Prefixes, rest: Rest) =>
  prefixes.map((prefix) => prefix + rest) as unknown as { [K in keyof Prefixes]: `${Prefixes[K] & string}${Rest}` };

export const placeholders = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

function paramsSchema(path: string, lenient: boolean): z.ZodObject {
  const shape = placeholders(path).map((name) => [name, name.endsWith("_id") && !lenient ? Id : z.string()] as const);
  return z.object(Object.fromEntries(shape.map(([name, schema]) => [name, schema.describe(`${describeParam(name)}.`)])));
}

const describeParam = (name: string) => (name.endsWith("_id") ? `Id of the ${name.slice(0, -3).replaceAll("_", " ")}` : name);
