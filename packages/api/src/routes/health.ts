import { anyone } from "@board/core/context/actor";
import { memoPerApp } from "@board/core/context/app-memo";
import { createCoalescer } from "@board/core/values/coalesce";
import type { Context } from "@board/core/context/context";
import { isReadOnly, readSchemaState } from "@board/core/db/database";
import { OVERDUE_SECONDS, readJobAge } from "@board/core/job/queue-age";
import { errorText } from "@board/core/values/log";
import { rejectAfter } from "@board/core/values/timeout";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import { json } from "../edge/errors.ts";
import { lazyObject } from "@board/core/values/wire";

const Health = lazyObject(() => ({ ok: z.boolean().describe("Whether the service works.") })).meta({
  id: "Health",
  description: "State of the service.",
});
const READINESS_TIMEOUT_MS = 2_000;

const runsOf = memoPerApp(() => createCoalescer<number | null>());

export const health = [
  endpoint(
    "GET",
    ["/health", "/healthz"],
    {
      as: anyone,
      in_memory: true,
      summary: "Check that the process is running",
      description: "Uses no other system, not even the database.",
      returns: Health,
    },
    async () => ({ ok: true }),
  ),
  endpoint(
    "GET",
    "/readyz",
    {
      as: anyone,
      in_memory: true,
      summary: "Check that the service is ready",
      description:
        "Returns 503 until the database responds within 2 s, has all migrations and accepts writes. The header `X-Job-Age-Seconds` is the waiting time of the oldest background job that is due.",
      returns: Health,
    },
    async (ctx) => {
      // Simultaneous probes share one run of the statements, because anyone may send probes.
      const age = await runsOf(ctx).run("", () => readReadiness(ctx));
      return age === null ? json({ ok: false }, 503) : json({ ok: true }, 200, { "X-Job-Age-Seconds": String(Math.floor(age)) });
    },
  ),
];

/**
 * Returns the age of the oldest due job. If the service is not ready, logs the reason and returns null. Late jobs do not make it
 * unready: taking instances out of service would reject webhooks and leave fewer instances for the jobs.
 */
async function readReadiness(ctx: Context): Promise<number | null> {
  const result = await rejectAfter(readAgeIfMigrated(ctx), READINESS_TIMEOUT_MS, databaseTimeout).catch(errorText);
  if (typeof result === "string") {
    ctx.log.warn("health.not_ready", result);
    return null;
  }
  if (result > OVERDUE_SECONDS)
    ctx.log.warn("health.jobs_late", "The oldest due job has waited too long", { age_seconds: Math.floor(result) });
  return result;
}

const databaseTimeout = () => new Error(`The database did not answer within ${READINESS_TIMEOUT_MS} ms`);

/** Returns the age in seconds, or the reason why the service is not ready. */
async function readAgeIfMigrated(ctx: Context): Promise<number | string> {
  const schema = await readSchemaState(ctx.db);
  if (schema === "absent") return "The database has no tables: no migration was applied";
  if (schema === "older") return "The database lacks migrations of this version";
  if (await isReadOnly(ctx.db)) return "The database accepts no writes";
  return readJobAge(ctx);
}
