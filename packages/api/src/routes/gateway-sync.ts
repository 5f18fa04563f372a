import { admin } from "@board/core/actor";
import { getSyncRun, requireGateway, startSync, syncTemplates } from "@board/core/template/sync";
import { SyncQuery, TemplateSyncResult, TemplateSyncRun } from "@board/core/template/sync-result";
import { endpoint } from "../endpoint.ts";
import { json } from "../errors.ts";
import { prefersAsync } from "../prefer.ts";

const path = "/api/v1/gateways/{gateway_id}/templates/sync";

/** Workspace files of a gateway's agents. */
export const gatewaySync = [
  endpoint(
    "POST",
    path,
    {
      as: admin,
      summary: "Sync templates to a gateway",
      description:
        "Writes the workspace files of the gateway's agents anew. What goes wrong is in `errors`, never an error status. A sync that takes longer than 25 s, and any with `Prefer: respond-async`, answers 202 with the run that goes on, and its address in Location.",
      reaches: (ctx, params) => requireGateway(ctx, params.gateway_id),
      query: SyncQuery,
      returns: TemplateSyncResult,
      later: TemplateSyncRun,
    },
    async (ctx, { params: { gateway_id }, query, http }) => {
      const is_async = prefersAsync(http.headers);
      const answer = await (is_async ? startSync : syncTemplates)(ctx, gateway_id, query);
      if (!("run_id" in answer)) return answer;
      const headers = { Location: `${path.replace("{gateway_id}", gateway_id)}/${answer.run_id}` };
      return json(answer, 202, is_async ? { ...headers, "Preference-Applied": "respond-async" } : headers);
    },
  ),
  endpoint(
    "GET",
    `${path}/{run_id}`,
    {
      as: admin,
      summary: "Get a sync of templates",
      description: "How far a sync is that goes on after its request, or that the schedule began. Kept for a week.",
      returns: TemplateSyncRun,
    },
    (ctx, { params }) => getSyncRun(ctx, params.gateway_id, params.run_id),
  ),
];
