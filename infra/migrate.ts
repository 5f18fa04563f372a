import { migrate } from "../packages/functions/src/manifest.ts";
import { directConnection } from "./database.ts";
import { common, ownRole, sized } from "./function.ts";

const migrator = new sst.aws.Function("Migrate", {
  ...common,
  ...sized(migrate),
  handler: "packages/functions/src/migrate.handler",
  description: "Brings the database up to this code's schema",
  environment: { ...directConnection, ...(process.env.LOG_LEVEL ? { LOG_LEVEL: process.env.LOG_LEVEL } : {}) },
  // A live stub would send the deployment's own invocation to a process that is not up yet.
  dev: false,
  transform: ownRole,
});

/** Invoked by every deployment: with nothing to do it costs a second, and it also catches a database that was reset or swapped. */
const migration = new aws.lambda.Invocation("Migration", {
  functionName: migrator.name,
  input: JSON.stringify({}),
  triggers: { deployedAt: new Date().toISOString() },
});

/**
 * For the `transform` of every other function: its new code goes live after the migration, and not at all when that fails.
 * Until then the old code runs on the new schema, so migrations only add; what the old code uses goes a deployment later.
 */
export const afterMigration = {
  ...ownRole,
  function: (_args, options) => {
    options.dependsOn = migration;
  },
} satisfies sst.aws.FunctionArgs["transform"];
