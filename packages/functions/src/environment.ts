import * as z from "zod";
import { stream } from "./manifest.ts";

/** What the functions read beside the settings of the service. The deployment gives it to them; a wrong value fails at init. */
export const Edge = z.object({
  DELIVERIES_QUEUE_URL: z.url().meta({ rule: "absolute URL" }).describe("Queue of the wake-ups for what agents are told."),
  SYNCS_QUEUE_URL: z
    .url()
    .meta({ rule: "absolute URL" })
    .describe("Queue of the wake-ups for syncs of templates and of skill packs."),
  EVENT_BUS_NAME: z.string().optional().describe("Name or ARN of the bus that board events leave on; unset: none leave."),
  STAGE: z.string().default("local").describe("Stage of the deployment, a dimension of every metric."),
  NEON_PROXY: z
    .string()
    .optional()
    .describe("host:port/path of a WebSocket proxy that stands in for Neon's, in front of any PostgreSQL."),
});

/** Lambda ends a function after 15 minutes, whatever it is about to say. */
const LONGEST_SECONDS = stream.timeout_seconds - 30;

export const StreamEdge = z.object({
  STREAM_MAX_SECONDS: z.coerce
    .number({ error: `must be a whole number from 1 to ${LONGEST_SECONDS}` })
    .int()
    .min(1)
    .max(LONGEST_SECONDS)
    .default(stream.max_seconds)
    .meta({ rule: `whole number from 1 to ${LONGEST_SECONDS}` })
    .describe("Seconds that a stream lives; its client then goes on in a new one."),
});

/** A migration needs the database and nothing else, over its direct host: the lock that keeps two apart belongs to a session. */
export const MigrateEdge = z.object({
  DATABASE_URL: z.string().describe("The database by its direct host, not the pooled one."),
  NEON_PROXY: Edge.shape.NEON_PROXY,
  LOG_LEVEL: z.string().default("info").describe("Least level that is logged."),
});
