import { memberOrAgent } from "@board/core/context/actor";
import { ChangesStreamQuery, followChanges, startOfStream } from "@board/core/change/feed";
import { Change } from "@board/core/change/source";
import { endpoint } from "../endpoint.ts";

export const changesStream = [
  endpoint(
    "GET",
    "/api/v1/changes/stream",
    {
      as: memberOrAgent,
      summary: "Follow changes",
      errors: [403, 404, 410],
      description:
        "Server-sent events `change`, one per change that the caller may see at that moment, with the cursor as their id. Resumes after the event in Last-Event-ID, else after `cursor`, else starts now.",
      query: ChangesStreamQuery,
      returns: Change,
      media_type: "text/event-stream",
    },
    async (ctx, { query, http }) => {
      const after = await startOfStream(ctx, http.headers.get("last-event-id") || query.cursor);
      return http.stream(null, { followAll: (ctx, callers) => followChanges(ctx, callers, query) }, after);
    },
  ),
];
