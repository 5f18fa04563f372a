import { member } from "@board/core/context/actor";
import { Dashboard, DashboardQuery, getDashboard } from "@board/core/metrics/dashboard";
import { exportUsage } from "@board/core/usage/csv";
import { getUsage, UsageMetrics, UsageQuery } from "@board/core/usage/metrics";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";

/** Figures about the work on boards and its costs. */
export const metrics = [
  endpoint(
    "GET",
    "/api/v1/metrics/dashboard",
    {
      as: member,
      summary: "Get the dashboard metrics",
      errors: [404],
      description:
        "Covers the boards of the active organization that the caller may read: all of them, one board, or one group. " +
        "Times are UTC. A time range ends now; its start is inclusive, its end exclusive.",
      query: DashboardQuery,
      returns: Dashboard,
    },
    (ctx, { query }) => getDashboard(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/v1/metrics/usage",
    {
      as: member,
      summary: "Get the usage of agents",
      errors: [404],
      description:
        "Sums of the usage that agents reported: tokens, prices and runs, with idle use listed separately. Covers the boards of the active " +
        "organization that the caller may read: all of them, one board, or one group. Callers who may read all boards also get the " +
        "usage of removed boards and of the main agents of gateways.",
      query: UsageQuery,
      returns: UsageMetrics,
    },
    (ctx, { query }) => getUsage(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/v1/metrics/usage.csv",
    {
      as: member,
      summary: "Get the usage of agents as CSV",
      errors: [404],
      description:
        "The rows of the usage of agents, with a header. Cells that a spreadsheet would run as formulas begin with `'`. The export is " +
        "recorded in the audit log.",
      query: UsageQuery,
      returns: z.string().meta({ id: "UsageCsv", description: "Comma-separated values." }),
      media_type: "text/csv",
    },
    async (ctx, { query }) =>
      new Response(await exportUsage(ctx, query), {
        headers: {
          "content-type": "text/csv; charset=utf-8",
          "content-disposition": `attachment; filename="usage-by-${query.group_by}.csv"`,
        },
      }),
  ),
];
