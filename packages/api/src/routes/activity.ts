import { reader } from "@board/core/actor";
import { Activity, listActivity } from "@board/core/activity/list";
import { pageOf, pageQuery } from "@board/core/page";
import { endpoint } from "../endpoint.ts";

const list = {
  as: reader,
  description: "An agent sees what is recorded of it; a person what happened on boards that they may read.",
  returns: pageOf(Activity),
};

export const activity = [
  endpoint("GET", "/api/v1/activity", { ...list, summary: "List activity", query: pageQuery() }, (ctx, { query }) =>
    listActivity(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/activity",
    { ...list, summary: "List activity by pages of a hundred", query: pageQuery(50, 100) },
    (ctx, { query }) => listActivity(ctx, query),
  ),
];
