import { admin } from "@board/core/context/actor";
import { getSyncRun, startSync, syncTemplates } from "@board/openclaw/sync/sync";
import { getGatewayRow } from "@board/core/gateway/target";
import { SyncQuery, TemplateSyncResult, TemplateSyncRun } from "@board/openclaw/sync/result";
import { endpoint } from "../endpoint.ts";
import { acceptedResponse, prefersAsync } from "../edge/prefer.ts";

const syncPath = "/api/v1/gateways/{gateway_id}/templates/sync";

/** Template sync: rewrites the workspace files of a gateway's agents. */
export const templateSync = [
  endpoint(
    "POST",
    syncPath,
    {
      as: admin,
      summary: "Sync templates to a gateway",
      calls_out: true,
      description:
        "Rewrites the workspace files of the agents of the gateway. Failures are listed in `errors` and do not change the status. Returns 202 with the run, and its address in Location, if the sync takes longer than 25 s or if the request has `Prefer: respond-async`.",
      authorize: (ctx, params) => getGatewayRow(ctx, params.gateway_id),
      query: SyncQuery,
      returns: TemplateSyncResult,
      accepted: TemplateSyncRun,
    },
    async (ctx, { params: { gateway_id }, query, http }) => {
      const is_async = prefersAsync(http.headers);
      const result = await (is_async ? startSync : syncTemplates)(ctx, gateway_id, query);
      return "run_id" in result ? acceptedResponse(result, syncPath.replace("{gateway_id}", gateway_id), is_async) : result;
    },
  ),
  endpoint(
    "GET",
    `${syncPath}/{run_id}`,
    {
      as: admin,
      summary: "Get a template sync",
      description:
        "Returns the progress of a sync that continues in the background or was started by the schedule. Runs are kept for a week.",
      returns: TemplateSyncRun,
    },
    (ctx, { params }) => getSyncRun(ctx, params.gateway_id, params.run_id),
  ),
];
