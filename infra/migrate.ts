import { migrate } from "../packages/functions/src/manifest.ts";
import { directConnection } from "./database.ts";
import { commonFunctionArgs, commonTransform, toSizeArgs } from "./function.ts";

const migrateFunction = new sst.aws.Function("Migrate", {
  ...commonFunctionArgs,
  ...toSizeArgs(migrate),
  handler: "packages/functions/src/migrate.handler",
  description: "Migrates the database to the schema of this version",
  environment: { ...directConnection, ...(process.env.LOG_LEVEL ? { LOG_LEVEL: process.env.LOG_LEVEL } : {}) },
  // In a live session, the deployment would invoke a local process that is not running yet.
  dev: false,
  transform: commonTransform,
});

/**
 * Every deployment invokes the migration, even without new migrations. It takes a second, and the database may have been
 * replaced.
 */
export const migration = new aws.lambda.Invocation("Migration", {
  functionName: migrateFunction.name,
  input: JSON.stringify({}),
  triggers: { deployedAt: new Date().toISOString() },
});

/**
 * For the `transform` of every other function: its new code goes live only after a successful migration. Until then the old code
 * runs on the new schema, so a migration may only add; columns in use are dropped by a later deployment.
 */
export const afterMigration = {
  ...commonTransform,
  function: (args, options) => {
    commonTransform.function(args);
    options.dependsOn = migration;
  },
} satisfies sst.aws.FunctionArgs["transform"];
