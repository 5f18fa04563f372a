import { stream } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { stageOf } from "./stage.ts";

const { caps } = stageOf($app.stage);
const { STREAM_MAX_SECONDS } = process.env;

/** The service asks for credentials itself, and answers preflights: the URL's own CORS would allow every origin. */
export const streams = new sst.aws.Function("Stream", {
  ...common,
  ...sized(stream),
  handler: "packages/functions/src/stream.handler",
  description: "Streams",
  environment: { ...environment, ...(STREAM_MAX_SECONDS ? { STREAM_MAX_SECONDS } : {}) },
  streaming: true,
  url: { authorization: "none", cors: false },
  ...(caps ? { concurrency: { reserved: stream.max_concurrency } } : {}),
  transform: afterMigration,
});
