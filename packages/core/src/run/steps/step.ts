import * as z from "zod";
import { CostUsd } from "../../values/cost.ts";
import { ModelName, TokenCount, UsageKey } from "../../values/usage.ts";
import { Id, Instant, InstantInput, Integer, lazyObject, MAX_NAME, NonEmpty } from "../../values/wire.ts";

/** The maximum number of steps in one request. */
export const MAX_STEPS = 200;
const MAX_NUMBER = 1_000_000_000;

const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] as const;
const PROGRESS = ["pending", "in_progress", "completed"] as const;

const text = z.string().describe("The text; longer ones are cut at 16 KB.");
const anyJson = z.unknown().optional();
const count = (what: string) => TokenCount.optional().describe(what);

/** What is sent and what is returned have separate components in the OpenAPI document. */
type Form = "sent" | "returned";
const named = (id: string, description: string, form: Form) =>
  form === "sent" ? { id: `${id}Write`, description: `${description}, to be stored.` } : { id, description: `${description}.` };

const planEntry = (form: Form) =>
  lazyObject(() => ({
    content: z.string().describe("What is to be done."),
    priority: z.enum(["high", "medium", "low"]).optional().describe("How important it is."),
    status: z.enum(PROGRESS).describe("How far it is."),
  })).meta(named("RunPlanEntry", "A part of a plan", form));

const location = (form: Form) =>
  lazyObject(() => ({
    path: z.string().describe("Path of a file."),
    line: Integer(0, MAX_NUMBER).optional().describe("Number of a line."),
  })).meta(named("RunLocation", "A place in a file", form));

const diff = (form: Form) =>
  lazyObject(() => ({
    path: z.string().describe("Path of the changed file."),
    old: z.string().nullable().describe("Its text before; null for a new file."),
    new: z.string().describe("Its text after."),
  })).meta(named("RunDiff", "A change of a file", form));

/** Returns the fields of each kind of step. They have the names that the Agent Client Protocol uses, where it has such fields. */
const fieldsOf = (form: Form) => ({
  message: { text },
  thought: { text },
  tool_call: {
    tool_call_id: NonEmpty(MAX_NAME).describe("A later step with the same id updates the call."),
    title: z.string().optional().describe("What the tool does."),
    tool_kind: z.enum(TOOL_KINDS).optional().describe("Kind of tool."),
    status: z
      .enum([...PROGRESS, "failed"])
      .optional()
      .describe("State of the call."),
    locations: z.array(location(form)).optional().describe("Files that the call is about; cut at 200."),
    input: anyJson.describe("What the tool was given, as any JSON; cut at 16 KB."),
    output: anyJson.describe("What the tool returned, as any JSON; cut at 16 KB."),
    diff: diff(form).optional().describe("A change of a file."),
  },
  plan: { entries: z.array(planEntry(form)).describe("The whole plan as it is now; cut at 200 entries.") },
  permission: {
    approval_id: Id.nullable().optional().describe("The approval that decided; null when a rule decided."),
    title: z.string().describe("What was asked."),
    outcome: z.string().describe("What was decided, such as `allowed` or `denied`."),
  },
  usage: {
    key: UsageKey.optional().describe("Key under which the usage counts once; by default the number of the step in its run."),
    model: ModelName.nullable().optional().describe("Name of the model, as the provider has it."),
    input_tokens: count("Tokens that the model read, cached ones included."),
    output_tokens: count("Tokens that the model wrote, reasoning included."),
    cached_input_tokens: count("The part of `input_tokens` that came from a cache."),
    reasoning_tokens: count("The part of `output_tokens` that was reasoning."),
    cost_usd: CostUsd.nullable().optional().describe("Price in US dollars as the provider reported it."),
  },
  log: { stream: z.string().describe("Where the text came from, such as `stderr`."), text },
});

type StepKind = keyof ReturnType<typeof fieldsOf>;
export const STEP_KINDS = ["message", "thought", "tool_call", "plan", "permission", "usage", "log"] as const satisfies StepKind[];

/** Returns a schema for every kind of step. `shape` adds fields to all kinds. */
function steps<Shape extends z.ZodRawShape>(form: Form, shape: () => Shape) {
  const fields = fieldsOf(form);
  const kinds = STEP_KINDS.map((kind) =>
    lazyObject(() => ({ ...shape(), kind: z.literal(kind).describe("Kind of step."), ...fields[kind] })),
  );
  return z.discriminatedUnion("kind", kinds as never) as unknown as z.ZodType<
    z.output<z.ZodObject<Shape>> & { kind: StepKind } & Record<string, unknown>
  >;
}

const SentStep = steps("sent", () => ({
  at: InstantInput.optional().describe("When it happened; by default when it arrives."),
}));
export type SentStep = z.output<typeof SentStep>;

export const PostSteps = lazyObject(() => ({
  from: Integer(0, MAX_NUMBER).describe("Number of the first step, counted from 0 in each run."),
  steps: z.array(SentStep).min(1).max(MAX_STEPS).describe("Steps in their order."),
})).meta({ id: "RunStepsWrite" });
export type PostSteps = z.infer<typeof PostSteps>;

export const StoredSteps = lazyObject(() => ({
  next: z.int().describe("Number of the next step to send."),
  full: z.boolean().describe("Whether the run holds no more steps; later ones are dropped."),
})).meta({ id: "RunStepsStored", description: "How far the steps of a run are stored." });
export type StoredSteps = z.infer<typeof StoredSteps>;

export const Step = steps("returned", () => ({
  n: z.int().describe("Number of the step in its run."),
  at: Instant.describe("When it happened."),
  truncated: z.literal(true).optional().describe("Present when a text or a list of the step was cut."),
})).meta({ id: "RunStep", description: "Something that happened in a run. Its texts were written by agents and tools." });
export type Step = z.output<typeof Step>;
