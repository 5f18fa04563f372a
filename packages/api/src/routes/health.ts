import { anyone } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { readSchemaState } from "@board/core/db/database";
import { readJobAge } from "@board/core/job/age";
import { errorText } from "@board/core/log";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import { json } from "../errors.ts";

const Health = z
  .object({ ok: z.boolean().describe("All is well.") })
  .meta({ id: "Health", description: "State of the service." });
const READY_MS = 2_000;
/** The relay runs every five minutes; what has waited longer than three runs, nobody takes up. */
const LATE_SECONDS = 15 * 60;

export const health = [
  endpoint(
    "GET",
    ["/health", "/healthz"],
    { as: anyone, summary: "The process lives", description: "Touches nothing, the database neither.", returns: Health },
    async () => ({ ok: true }),
  ),
  endpoint(
    "GET",
    "/readyz",
    {
      as: anyone,
      summary: "The service is ready",
      description:
        "503 until the database answers within 2 s with all migrations applied. `X-Job-Age-Seconds` says how long the oldest background job has waited that could be done.",
      returns: Health,
    },
    async (ctx) => {
      const age = await readReadiness(ctx);
      return age === null ? json({ ok: false }, 503) : json({ ok: true }, 200, { "X-Job-Age-Seconds": String(Math.floor(age)) });
    },
  ),
];

/**
 * The age of the oldest job when the service is ready, null when it is not; the log says why. Late jobs do not make it
 * unready: whoever takes instances away for that has even fewer to work the jobs off, and turns away webhooks that would be
 * stored. A deployment's check reads the header, an alarm the metric.
 */
async function readReadiness(ctx: Context): Promise<number | null> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, READY_MS, `The database did not answer within ${READY_MS} ms`);
  });
  const found = await Promise.race([readAgeIfMigrated(ctx).catch(errorText), deadline]).finally(() => clearTimeout(timer));
  if (typeof found === "string") {
    ctx.log.warn("health.not_ready", found);
    return null;
  }
  if (found > LATE_SECONDS)
    ctx.log.warn("health.jobs_late", "Jobs that could be done are not", { age_seconds: Math.floor(found) });
  return found;
}

/** The age, or what keeps the service from being ready. */
async function readAgeIfMigrated(ctx: Context): Promise<number | string> {
  const schema = await readSchemaState(ctx.db);
  if (schema === "absent") return "The database has no tables: no migration was applied";
  if (schema === "older") return "The database lacks migrations of this version";
  return readJobAge(ctx);
}
