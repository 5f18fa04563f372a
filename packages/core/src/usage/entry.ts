import * as z from "zod";
import { CostUsd } from "../values/cost.ts";
import { ModelName, TokenCount, UsageKey } from "../values/usage.ts";
import { Id, InstantInput, lazyObject } from "../values/wire.ts";

const MAX_ENTRIES = 100;

const tokens = () => TokenCount.default(0);

/** The usage that one report contains. */
export const Amounts = lazyObject(() => ({
  model: ModelName.nullable().default(null).describe("Name of the model, as the provider has it."),
  input_tokens: tokens().describe("Tokens that the model read, cached ones included."),
  output_tokens: tokens().describe("Tokens that the model wrote, reasoning included."),
  cached_input_tokens: tokens().describe("The part of `input_tokens` that came from a cache."),
  reasoning_tokens: tokens().describe("The part of `output_tokens` that was reasoning."),
  cost_usd: CostUsd.nullable()
    .default(null)
    .describe("Price in US dollars as the provider reported it; null when it reported none. The service never computes one."),
}));

export const UsageEntry = lazyObject(() => ({
  key: UsageKey.describe(
    "Identifies the entry. For seven days, an entry with a key that the agent has used before is not counted.",
  ),
  at: InstantInput.optional().describe("When it was used, in the last seven days; now when absent. A later time counts as now."),
  ...Amounts.shape,
  run_id: Id.nullable().default(null).describe("Run of the agent for which it was used."),
  task_id: Id.nullable()
    .default(null)
    .describe("Task for which it was used. Without task and run, the entry is idle use of the agent."),
})).meta({ id: "UsageEntryWrite" });
export type UsageEntry = z.infer<typeof UsageEntry>;

export const ReportUsage = lazyObject(() => ({
  entries: z.array(UsageEntry).min(1).max(MAX_ENTRIES).describe(`What was used, at most ${MAX_ENTRIES} entries.`),
})).meta({ id: "UsageReportWrite" });
export type ReportUsage = z.infer<typeof ReportUsage>;

/** The usage that an agent may send together with a change of a task. The key is only needed if the request may be repeated. */
export const UsageOfCall = lazyObject(() => ({
  key: UsageKey.optional().describe("A call that is repeated with the same key counts once."),
  ...Amounts.shape,
}));
export type UsageOfCall = z.infer<typeof UsageOfCall>;

export const ReportedUsage = lazyObject(() => ({
  ok: z.literal(true).describe("All entries are counted."),
  accepted: z.int().describe("Entries that were counted now."),
  exhausted_budget_ids: z.array(Id).describe("Spent budgets whose runs were stopped: end the work under them. Usually empty."),
  repeated: z.int().describe("Entries whose key was known, because they were counted before."),
})).meta({ id: "UsageReport", description: "What became of reported usage." });
export type ReportedUsage = z.infer<typeof ReportedUsage>;
