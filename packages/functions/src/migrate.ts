import { fileURLToPath } from "node:url";
import { createLog } from "@board/api/log";
import { openNeon } from "@board/core/db/neon";
import * as z from "zod";

/** Invoked by a deployment, over the direct host: the lock that keeps two migrations apart belongs to a session. */
const env = z
  .object({ DATABASE_URL: z.string(), NEON_PROXY: z.string().optional(), LOG_LEVEL: z.string().default("info") })
  .parse(process.env);
const log = createLog(env.LOG_LEVEL, { function: process.env["AWS_LAMBDA_FUNCTION_NAME"] });

export async function handler(): Promise<{ ok: true }> {
  const database = openNeon(env.DATABASE_URL, { max: 1, log, ...(env.NEON_PROXY ? { proxy: env.NEON_PROXY } : {}) });
  try {
    await database.migrate(fileURLToPath(new URL("migrations", import.meta.url)));
    log.info("database.migrated", "The database has this code's schema");
    return { ok: true };
  } finally {
    await database.close();
  }
}
