import * as z from "zod";
import { stream } from "./manifest.ts";

export const toQueueUrls = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(",").map((part) => {
      const [name = "", ...url] = part.split("=");
      return [name.trim(), url.join("=").trim()];
    }),
  );

/** Variables that the deployment sets for the functions, in addition to the settings. An invalid value fails at start. */
export const FunctionEnvironment = z.object({
  QUEUE_URLS: z
    .string()
    .transform(toQueueUrls)
    .pipe(z.object({ deliveries: z.url(), syncs: z.url(), probes: z.url(), outbound: z.url() }))
    .meta({ rule: "list of name=URL, comma-separated" })
    .describe(
      "URLs of the queues `deliveries` (provisioning of agents, notifications and board events), `syncs` (template syncs and skill pack syncs), `probes` (of hosts) and `outbound` (deliveries to subscriptions).",
    ),
  EVENT_BUS_NAME: z.string().optional().describe("Name or ARN of the event bus for board events. If unset, none are published."),
  STAGE: z.string().default("local").describe("Stage of the deployment, which is a dimension of every metric."),
  DATABASE_CONNECTIONS: z.coerce
    .number({ error: "must be a whole number from 1 to 100" })
    .int()
    .min(1)
    .max(100)
    .default(2)
    .meta({ rule: "whole number from 1 to 100" })
    .describe("Database connections of each process. The deployment sets another value for streams."),
  NEON_PROXY: z
    .string()
    .optional()
    .describe("host:port/path of a WebSocket proxy that replaces Neon's, for any PostgreSQL server."),
});

/** Lambda stops a function after 15 minutes, so a stream must end before that. */
const LONGEST_STREAM_SECONDS = stream.timeout_seconds - 30;

export const StreamEnvironment = z.object({
  STREAM_MAX_SECONDS: z.coerce
    .number({ error: `must be a whole number from 1 to ${LONGEST_STREAM_SECONDS}` })
    .int()
    .min(1)
    .max(LONGEST_STREAM_SECONDS)
    .default(stream.max_seconds)
    .meta({ rule: `whole number from 1 to ${LONGEST_STREAM_SECONDS}` })
    .describe("Seconds after which a stream ends and its client reconnects."),
});

/**
 * A migration connects to the direct host of the database, because its lock belongs to a session, and a pooler does not keep
 * sessions.
 */
export const MigrateEnvironment = z.object({
  DATABASE_URL: z.string().describe("Connection string with the direct host, not the pooled one."),
  NEON_PROXY: FunctionEnvironment.shape.NEON_PROXY,
  LOG_LEVEL: z.string().default("info").describe("Minimum level of log lines."),
});
