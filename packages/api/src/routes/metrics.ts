import { member } from "@board/core/context/actor";
import { Dashboard, DashboardQuery, getDashboard } from "@board/core/metrics/dashboard";
import { endpoint } from "../endpoint.ts";

/** Dashboard metrics about the work on boards. */
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
];
