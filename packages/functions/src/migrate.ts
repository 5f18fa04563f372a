/** The migration function, which a deployment invokes before new code goes live. */
import { fileURLToPath } from "node:url";
import { createLog } from "@board/api/edge/log";
import { openNeon } from "@board/core/db/neon";
import { MigrateEnvironment } from "./environment.ts";

const env = MigrateEnvironment.parse(process.env);
const log = createLog(env.LOG_LEVEL, { function: process.env["AWS_LAMBDA_FUNCTION_NAME"] });

export async function handler(): Promise<{ ok: true }> {
  const database = openNeon(env.DATABASE_URL, { max: 1, log, ...(env.NEON_PROXY ? { proxy: env.NEON_PROXY } : {}) });
  try {
    await database.migrate(fileURLToPath(new URL("migrations", import.meta.url)));
    log.info("database.migrated", "The database has the schema of this version");
    return { ok: true };
  } finally {
    await database.close();
  }
}
