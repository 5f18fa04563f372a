import { type ApiGroup, groups, webhookRoutes } from "../packages/functions/src/manifest.ts";
import { apiGateway, throttleAfter } from "./api-gateway.ts";
import { bodyReadPermissions, filePermissions } from "./bodies.ts";
import { environment } from "./environment.ts";
import { commonFunctionArgs, toSizeArgs } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { enqueuePermissions } from "./queue.ts";
import { stageSettings } from "./stage.ts";
import { streamUrl } from "./stream.ts";

const { reserve_concurrency } = stageSettings($app.stage);

/** Converts `board-groups` to `BoardGroups`: component names consist of letters and digits. */
const componentName = (group: string) => group.replaceAll(/(?:^|-)(.)/g, (_match, first: string) => first.toUpperCase());

export const apiFunctions: sst.aws.Function[] = [];
const throttled: $util.Output<$util.Resource>[] = [];

// With an inline handler, route() would create a function per route. With an ARN, all routes of a group share one function.
for (const [name, group] of Object.entries<ApiGroup>(groups)) {
  const fn = new sst.aws.Function(`Api${componentName(name)}`, {
    ...commonFunctionArgs,
    ...toSizeArgs(group),
    handler: `packages/functions/src/api/${name}.handler`,
    description: `API: ${name}`,
    environment: { ...environment, STREAM_URL: streamUrl },
    permissions: [
      ...(group.enqueues === false ? [] : enqueuePermissions),
      ...(group.reads_bodies ? bodyReadPermissions : []),
      ...(group.stores_files ? filePermissions : []),
    ],
    ...(reserve_concurrency && group.max_concurrency ? { concurrency: { reserved: group.max_concurrency } } : {}),
    transform: afterMigration,
  });
  apiFunctions.push(fn);
  for (const route of group.routes) {
    const { nodes } = apiGateway.route(route, fn.arn);
    if (webhookRoutes.includes(route)) throttled.push(nodes.route);
  }
}
throttleAfter(throttled);
