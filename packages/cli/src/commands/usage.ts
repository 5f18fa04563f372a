import { Option } from "commander";
import type { Budget } from "@board/client";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import { requireAgent } from "../session.ts";
import { requireTaskId } from "../task-calls.ts";
import { addUsageOptions, hasUsage, reportUsage, type UsageOptions } from "../usage-options.ts";
import { toCount } from "./tasks.ts";

const GROUPS = ["day", "agent", "board", "model", "task"] as const;
const RANGES = ["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"] as const;

interface ReadOptions {
  by: (typeof GROUPS)[number];
  range: (typeof RANGES)[number];
  limit: number;
}

/** What agents have used, and how much they may spend. */
export const addUsage: AddCommands = (program, host) => {
  const usage = program
    .command("usage [task]")
    .description("Show what agents used (people), or report it for a task or as idle use (agents)")
    .addOption(new Option("--by <group>", "what a row stands for").choices(GROUPS).default("day"))
    .addOption(new Option("--range <range>", "time before now").choices(RANGES).default("7d"))
    .option("-n, --limit <number>", "maximum number of rows", toCount, 20);
  addUsageOptions(usage).action(async (text: string | undefined, options: ReadOptions & UsageOptions, command) => {
    const { output, openSession, options: global } = startRun(command, host);
    const session = await openSession();
    if (session.identity.type === "agent" || hasUsage(options)) {
      requireAgent(session, "Only agents report usage.");
      if (!hasUsage(options)) throw new UsageError("Say what you used, such as --input-tokens 5200 --output-tokens 640.");
      const reported = await reportUsage(session, options, text === undefined ? null : requireTaskId(text));
      const spent = reported.exhausted_budget_ids.length > 0 ? " The budget is spent: end this work." : "";
      return output.result(reported, () =>
        output.line(`${reported.accepted > 0 ? "Counted." : "It was counted before."}${spent}`),
      );
    }
    const board = global.board === undefined ? {} : { board_id: await session.findBoardId() };
    const { by: group_by, range, limit } = options;
    const query = { group_by, range, limit, ...board };
    const found = await session.client.get("/api/v1/metrics/usage", { params: { query } });
    output.result(found, () => {
      output.table(
        found.rows,
        [
          { title: group_by, value: ({ key, name }) => name ?? key ?? "not reported", max: 50 },
          { title: "tokens", value: ({ work }) => work.total_tokens ?? "not reported" },
          { title: "cost usd", value: ({ work }) => work.cost_usd ?? "" },
          { title: "runs", value: ({ work }) => work.runs ?? "" },
          { title: "idle tokens", value: ({ idle }) => idle.total_tokens ?? "" },
          { title: "idle cost", value: ({ idle }) => idle.cost_usd ?? "" },
        ],
        "Nothing was reported.",
      );
      const { work, idle } = found.total;
      output.line(
        `Total: ${work.total_tokens} tokens for tasks, ${idle.total_tokens} idle, ${work.cost_usd ?? "no"} USD reported.`,
      );
    });
  });

  program
    .command("budget")
    .description("Show the budgets, and what is spent of them (people)")
    .action(async (_options, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const budgets = await collect<Budget>(session.client.list("/api/v1/budgets", { params: { query: { limit: 200 } } }));
      output.result(budgets, () =>
        output.table(
          budgets,
          [
            { title: "budget", value: ({ scope, scope_name }) => `${scope} ${scope_name}`, max: 40 },
            { title: "period", value: ({ period }) => period },
            { title: "spent", value: (budget) => spentOf(budget) },
            { title: "state", value: ({ state }) => state },
            { title: "resets", value: ({ resets_at }) => resets_at ?? "never" },
          ],
          "No budgets.",
        ),
      );
    });
};

function spentOf({ spent, limit }: Budget): string {
  const parts = [
    limit.cost_usd === null ? null : `${spent.cost_usd} of ${limit.cost_usd} USD`,
    limit.total_tokens === null ? null : `${spent.total_tokens} of ${limit.total_tokens} tokens`,
    limit.runs === null ? null : `${spent.runs} of ${limit.runs} runs`,
  ];
  return parts.filter((part) => part !== null).join(", ");
}
