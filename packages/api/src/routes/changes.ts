import { memberOrAgent } from "@board/core/context/actor";
import { Changes, ChangesQuery, listChanges } from "@board/core/change/feed";
import { endpoint } from "../endpoint.ts";

export const changes = [
  endpoint(
    "GET",
    "/api/v1/changes",
    {
      as: memberOrAgent,
      summary: "List changes since a cursor",
      errors: [403, 404, 410],
      description:
        "Every change of tasks, comments, approvals, memory, agents and boards that the caller may see, in commit order, each of them once. Start without a cursor, then send the cursor of the last answer.",
      query: ChangesQuery,
      returns: Changes,
    },
    (ctx, { query }) => listChanges(ctx, query),
  ),
];
