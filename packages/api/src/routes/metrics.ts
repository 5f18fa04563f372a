import { member } from "@board/core/actor";
import { Dashboard, DashboardQuery, getDashboard } from "@board/core/metrics/dashboard";
import { endpoint } from "../endpoint.ts";

/** Figures about the work on boards. */
export const metrics = [
  endpoint(
    "GET",
    "/api/v1/metrics/dashboard",
    {
      as: member,
      summary: "Get the figures of the dashboard",
      errors: [404],
      description:
        "About the boards of the active organization that the caller may read, all of them or those of one board or group. " +
        "Times are UTC; a window ends now and takes in its start but not its end.",
      query: DashboardQuery,
      returns: Dashboard,
    },
    (ctx, { query }) => getDashboard(ctx, query),
  ),
];
