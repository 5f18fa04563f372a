import * as z from "zod";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { readOwnRun } from "../run/report.ts";
import { run_tokens } from "../schema/run-token.sql.ts";
import { DomainError } from "../values/errors.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { mintToken, RUN_TOKEN_PREFIX, tokenLookup } from "./token.ts";

export const RunToken = lazyObject(() => ({
  token: z.string().describe("Shown only once."),
  run_id: Id.describe("Its run."),
  task_id: Id.describe("Its task."),
  board_id: Id.describe("Board of the task."),
})).meta({ id: "RunToken", description: "The token of a run." });
export type RunToken = z.infer<typeof RunToken>;

/** Creates the token of a running run. The new token replaces the run's previous token. */
export async function mintRunToken(ctx: Context<Agent>, run_id: string): Promise<RunToken> {
  const run = await readOwnRun(ctx, run_id);
  if (run.status !== "running") throw new DomainError("conflict", "The run has ended, so it gets no token.");
  const token = `${RUN_TOKEN_PREFIX}${mintToken()}`;
  const token_lookup = tokenLookup(ctx.settings.token_pepper, token);
  await ctx.db
    .insert(run_tokens)
    .values({ run_id, token_lookup })
    .onConflictDoUpdate({ target: run_tokens.run_id, set: { token_lookup } });
  const { task_id, board_id } = run;
  return { token, run_id, task_id, board_id };
}
