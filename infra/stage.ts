/** The settings that differ between stages. Plain data, because SST reads the app's settings before resource types exist. */
export interface StageSettings {
  /** Retention of logs. */
  log_retention: "1 week" | "3 months";
  /** Requests per second and burst that API Gateway allows, for all routes together. */
  throttle: { rate: number; burst: number };
  /** Whether functions get reserved concurrency, which the account's unreserved concurrency must cover. */
  reserve_concurrency: boolean;
}

const PRODUCTION = "production";

export const stageSettings = (stage: string): StageSettings =>
  stage === PRODUCTION
    ? { log_retention: "3 months", throttle: { rate: 500, burst: 1000 }, reserve_concurrency: true }
    : { log_retention: "1 week", throttle: { rate: 50, burst: 100 }, reserve_concurrency: false };

/** The result of `app()` in sst.config.ts. Set AWS_REGION to the region of the database, to keep functions close to it. */
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
