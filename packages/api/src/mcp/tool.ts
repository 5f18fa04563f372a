import type { Actor, Agent, Role, User } from "@board/core/context/actor";
import { as, type Context } from "@board/core/context/context";
import { outOfRunScope, requireInRunScope } from "@board/core/context/run-scope";
import { InvalidInput } from "@board/core/values/errors";
import type { Settings } from "@board/core/config/settings";
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import * as z from "zod";
import { findUnstorable } from "../edge/body.ts";
import { toProblems } from "../edge/problems.ts";
import { type JsonSchema, toInputSchema, toOutputSchema } from "./listed-schema.ts";

export type Caller = User | Agent;

/** A result as data, and in words for models that only read text. */
export interface ToolResult<Output = object> {
  data: Output;
  text: string;
}

interface Spec<A extends Caller, Input extends z.ZodObject, Output extends z.ZodObject> {
  /** The title that people see, for example when a client asks for their consent. */
  title: string;
  name: string;
  /** When to use the tool and when not, in one or two lines. It may only mention tools that every caller of this tool has. */
  description: string;
  /** Which callers see the tool in the list and may call it. The core function makes all other checks. */
  as: Role<A>;
  /** A run token may call the tool, but only for the board and task of the run. */
  for_runs?: true;
  read_only?: true;
  idempotent?: true;
  /** Clients should ask a person for confirmation before each call. */
  destructive?: true;
  input: Input;
  /** Descriptions of arguments whose names do not explain them. */
  about?: Partial<Record<keyof z.input<Input>, string>>;
  output: Output;
  run(ctx: Context<A>, input: z.output<Input>, signal: AbortSignal): Promise<ToolResult<z.output<Output>>>;
}

type Hints = Pick<Spec<Caller, z.ZodObject, z.ZodObject>, "title" | "read_only" | "idempotent" | "destructive">;

/** A tool as the server registers it. */
export interface Tool {
  name: string;
  description: string;
  annotations: ToolAnnotations;
  input_schema: JsonSchema;
  output_schema: JsonSchema;
  input: z.ZodObject;
  output: z.ZodObject;
  isListed(actor: Actor, settings: Settings): boolean;
  run(ctx: Context, input: unknown, signal: AbortSignal): Promise<ToolResult>;
}

/** Declares a tool. Like an operation of the API, a tool has a role and schemas, and calls core functions. */
export function tool<A extends Caller, Input extends z.ZodObject, Output extends z.ZodObject>(
  spec: Spec<A, Input, Output>,
): Tool {
  const { name, description, input, output } = spec;
  return {
    name,
    description,
    annotations: annotationsOf(spec),
    input_schema: toInputSchema(input, spec.about ?? {}),
    output_schema: toOutputSchema(output),
    input,
    output,
    isListed: (actor, settings) => isAdmitted(spec.as, actor, settings) && (spec.for_runs === true || !isRun(actor)),
    run: async (ctx, sent, signal) => {
      const parsed = parseArguments(input, sent);
      if (isRun(ctx.actor)) requireRunMayCall(ctx.actor, spec.for_runs === true, parsed);
      return spec.run(as(ctx, spec.as), parsed, signal);
    },
  };
}

const isRun = (actor: Actor): boolean => actor.type === "agent" && actor.run !== undefined;

/** Throws unless a run token may call the tool, for the run's board and task. Core checks all other ids. */
function requireRunMayCall(actor: Actor, for_runs: boolean, named: { board_id?: string; task_id?: string }): void {
  if (!for_runs) throw outOfRunScope();
  requireInRunScope(actor, { board_id: named.board_id, task_id: named.task_id });
}

/**
 * Returns the hints for clients. Without a hint, a client assumes the worst and asks a person. Hints that repeat a default, or that
 * mean nothing for a read, are left out, because the list of tools costs tokens.
 */
const annotationsOf = ({ title, read_only, idempotent, destructive }: Hints): ToolAnnotations => ({
  title,
  ...(read_only ? { readOnlyHint: true } : { destructiveHint: destructive ?? false }),
  ...(idempotent && { idempotentHint: true }),
  openWorldHint: false,
});

function isAdmitted(role: Role, actor: Actor, settings: Settings): boolean {
  try {
    role.narrow(actor, settings);
    return true;
  } catch {
    return false;
  }
}

/** Parses the arguments. Unlike in an HTTP request, an unknown argument is an error, because a model may have guessed the name. */
function parseArguments<Input extends z.ZodObject>(schema: Input, sent: unknown): z.output<Input> {
  const problem = findUnstorable(sent, ["body"]);
  if (problem) throw new InvalidInput([problem]);
  return parseInput(schema.strict(), sent) as z.output<Input>;
}

/** Parses the input of a core function by the rules that apply to request bodies. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (!result.success) throw new InvalidInput(toProblems(result.error.issues, "body", input));
  return result.data;
}

/** Applies the schema of a list's query, so that its limits and defaults also apply to the tool. */
export function toQuery<S extends z.ZodObject>(schema: S, values: Record<string, unknown>): z.output<S> {
  const sent = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
  const result = schema.safeParse(sent);
  if (!result.success) throw new InvalidInput(toProblems(result.error.issues, "query", sent));
  return result.data;
}

/**
 * Returns the board that the caller means when it names none: the board of the run, or else the agent's own board. People and main
 * agents have no such board.
 */
export const ownBoardIdOf = (actor: Caller): string | null =>
  actor.type === "agent" ? (actor.run?.board_id ?? actor.board_id) : null;

/** Returns the board in the call, or else the caller's own board. */
export function boardIdOf({ actor }: Context<Caller>, { board_id }: { board_id?: string | undefined }): string {
  const id = board_id ?? ownBoardIdOf(actor);
  if (id !== null) return id;
  const msg = "Field required: get_board without arguments lists your boards";
  throw new InvalidInput([{ type: "missing", loc: ["body", "board_id"], msg, input: null }]);
}
