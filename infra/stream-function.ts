import { stream } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { commonFunctionArgs, toSizeArgs } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { stageSettings } from "./stage.ts";

const { reserve_concurrency } = stageSettings($app.stage);
const { STREAM_MAX_SECONDS } = process.env;

/**
 * Creates the function with its URL. The service handles authentication and CORS itself, because a function URL's CORS would allow
 * every origin.
 */
export const createStreamFunction = () =>
  new sst.aws.Function("Stream", {
    ...commonFunctionArgs,
    ...toSizeArgs(stream),
    handler: "packages/functions/src/stream.handler",
    description: "Streams",
    environment: {
      ...environment,
      DATABASE_CONNECTIONS: String(stream.connections),
      ...(STREAM_MAX_SECONDS ? { STREAM_MAX_SECONDS } : {}),
    },
    streaming: true,
    url: { authorization: "none", cors: false },
    ...(reserve_concurrency ? { concurrency: { reserved: stream.max_concurrency } } : {}),
    transform: afterMigration,
  });
