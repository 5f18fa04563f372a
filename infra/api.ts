import { type ApiGroup, groups } from "../packages/functions/src/manifest.ts";
import { apiGateway } from "./api-gateway.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { mayEnqueue } from "./queue.ts";
import { stageOf } from "./stage.ts";
import { streams } from "./stream.ts";

const { caps } = stageOf($app.stage);

/** `board-groups` becomes `BoardGroups`: names of components are letters and digits. */
const componentName = (group: string) => group.replaceAll(/(?:^|-)(.)/g, (_match, first: string) => first.toUpperCase());

export const apiFunctions: sst.aws.Function[] = [];

// A handler given to route() inline would become a function per route; an ARN lets all routes of a group share one.
for (const [name, group] of Object.entries<ApiGroup>(groups)) {
  const fn = new sst.aws.Function(`Api${componentName(name)}`, {
    ...common,
    ...sized(group),
    handler: `packages/functions/src/api/${name}.handler`,
    description: `API: ${name}`,
    environment: { ...environment, STREAM_URL: streams.url },
    permissions: group.enqueues === false ? [] : mayEnqueue,
    ...(caps && group.max_concurrency ? { concurrency: { reserved: group.max_concurrency } } : {}),
    transform: afterMigration,
  });
  apiFunctions.push(fn);
  for (const route of group.routes) apiGateway.route(route, fn.arn);
}

export const api = apiGateway;
