import { type Throttle, throttles } from "./throttle.ts";

/** The settings that differ between stages. Plain data, because SST reads the app's settings before resource types exist. */
export interface StageSettings {
  /** Retention of logs. */
  log_retention: "1 week" | "3 months";
  /** Requests per second and burst that API Gateway allows, for all routes together. */
  throttle: Throttle;
  /** Limit for each route of public webhooks: half of `throttle`, so that a flood of posts leaves room for other requests. */
  webhook_throttle: Throttle;
  /** Whether functions get reserved concurrency. The account's unreserved concurrency must cover it. */
  reserve_concurrency: boolean;
}

const PRODUCTION = "production";

export function stageSettings(stage: string): StageSettings {
  const isProduction = stage === PRODUCTION;
  return {
    log_retention: isProduction ? "3 months" : "1 week",
    ...throttles(isProduction),
    reserve_concurrency: isProduction,
  };
}

/** Returns the settings for `app()` in sst.config.ts. Set AWS_REGION to the database's region, so that functions run near it. */
export function appSettings(stage: string) {
  const production = stage === PRODUCTION;
  const name = "board-coordination";
  return {
    name,
    home: "aws" as const,
    removal: production ? ("retain" as const) : ("remove" as const),
    protect: production,
    providers: {
      aws: { region: (process.env.AWS_REGION ?? "us-east-1") as aws.Region, defaultTags: { tags: { app: name, stage } } },
    },
  };
}
