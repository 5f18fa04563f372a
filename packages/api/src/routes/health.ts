import { anyone } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { isMigrated } from "@board/core/db/database";
import { errorText } from "@board/core/log";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import { json } from "../errors.ts";

const Health = z
  .object({ ok: z.boolean().describe("All is well.") })
  .meta({ id: "Health", description: "State of the service." });
const READY_MS = 2_000;

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
      description: "503 until the database answers with all migrations applied.",
      returns: Health,
    },
    async (ctx) => ((await isReady(ctx)) ? { ok: true } : json({ ok: false }, 503)),
  ),
];

async function isReady(ctx: Context): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, READY_MS, false);
  });
  const answer = isMigrated(ctx.db).catch((error: unknown) => {
    ctx.log.warn("health.not_ready", errorText(error));
    return false;
  });
  return Promise.race([answer, deadline]).finally(() => clearTimeout(timer));
}
