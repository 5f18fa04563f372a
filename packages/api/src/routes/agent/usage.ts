import { agent } from "@board/core/context/actor";
import { ReportedUsage, ReportUsage } from "@board/core/usage/entry";
import { reportUsage } from "@board/core/usage/report";
import { endpoint } from "../../endpoint.ts";

/**
 * The tokens and costs that agents have used. Like the reports about runs, these operations have no intent, which keeps the
 * documents of agents short.
 */
export const agentUsage = [
  endpoint(
    "POST",
    "/api/v1/agent/usage",
    {
      as: agent,
      summary: "Report usage",
      description:
        "Counts tokens and prices for a run, a task or, without both, as idle use. Each entry has a key of your choice: for seven days a repeated key counts nothing, so that a report may be sent again after a failure. Either all entries of a request are counted or none.",
      operation_id: "agent_usage_report",
      body: ReportUsage,
      returns: ReportedUsage,
    },
    (ctx, { body }) => reportUsage(ctx, body),
  ),
];
