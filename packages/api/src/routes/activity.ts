import { reader } from "@board/core/context/actor";
import { Activity, ActivityQuery, listActivity } from "@board/core/activity/list";
import { pageOf } from "@board/core/lists/page";
import { endpoint } from "../endpoint.ts";

const listSpec = {
  as: reader,
  description: "An agent sees its own activity; a person sees the activity of the boards that they may read.",
  returns: pageOf(Activity),
};

export const activity = [
  endpoint("GET", "/api/v1/activity", { ...listSpec, summary: "List activity", query: ActivityQuery() }, (ctx, { query }) =>
    listActivity(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/activity",
    { ...listSpec, summary: "List activity (up to 100 per page)", query: ActivityQuery(50, 100) },
    (ctx, { query }) => listActivity(ctx, query),
  ),
];
