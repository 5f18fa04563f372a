/** Differences between stages, as plain data: the CLI asks for the app's settings before any resource type exists. */
export interface Stage {
  /** How long logs are kept. */
  retention: "1 week" | "3 months";
  /** Requests per second and burst that API Gateway lets through, over all routes. */
  throttle: { rate: number; burst: number };
  /** Whether functions get their caps: an account's unreserved concurrency must suffice for them. */
  caps: boolean;
}

const PRODUCTION = "production";

export const stageOf = (stage: string): Stage =>
  stage === PRODUCTION
    ? { retention: "3 months", throttle: { rate: 500, burst: 1000 }, caps: true }
    : { retention: "1 week", throttle: { rate: 50, burst: 100 }, caps: false };

/** What `app()` in sst.config.ts returns. The functions belong next to the database: its region decides AWS_REGION. */
export function appOf(stage: string) {
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
