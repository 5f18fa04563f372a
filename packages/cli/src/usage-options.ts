import type { Command } from "commander";
import { UsageError } from "./failure.ts";
import type { Session } from "./session.ts";

export interface UsageOptions {
  inputTokens?: number;
  outputTokens?: number;
  cachedInputTokens?: number;
  reasoningTokens?: number;
  cost?: string;
  model?: string;
  usageKey?: string;
}

function toTokens(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`${text} is not a number of tokens.`);
  return Number(text);
}

/** Adds the options with which an agent reports what it used. */
export const addUsageOptions = (command: Command): Command =>
  command
    .option("--input-tokens <number>", "report tokens that the model read", toTokens)
    .option("--output-tokens <number>", "report tokens that the model wrote", toTokens)
    .option("--cached-input-tokens <number>", "the part of the input that came from a cache", toTokens)
    .option("--reasoning-tokens <number>", "the part of the output that was reasoning", toTokens)
    .option("--cost <usd>", "price in US dollars as the provider reported it, such as 0.0123")
    .option("--model <name>", "name of the model")
    .option("--usage-key <key>", "repeated reports with the same key count once");

/** Returns whether any of the options was given. */
export const hasUsage = ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost }: UsageOptions): boolean =>
  [inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost].some((value) => value !== undefined);

/** Reports what an agent used, for a task or, without a task, as idle use. */
export function reportUsage(session: Session, options: UsageOptions, task_id: string | null) {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost, model, usageKey } = options;
  const entry = {
    key: usageKey ?? crypto.randomUUID(),
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(outputTokens !== undefined && { output_tokens: outputTokens }),
    ...(cachedInputTokens !== undefined && { cached_input_tokens: cachedInputTokens }),
    ...(reasoningTokens !== undefined && { reasoning_tokens: reasoningTokens }),
    ...(cost !== undefined && { cost_usd: cost }),
    ...(model !== undefined && { model }),
    ...(task_id !== null && { task_id }),
  };
  return session.client.post("/api/v1/agent/usage", { body: { entries: [entry] } });
}
