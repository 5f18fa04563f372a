import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import type { Write } from "../db/batch.ts";
import { insertJobsIfAny, type NewJob } from "../job/job.ts";
import { slack_decisions } from "../schema/slack.sql.ts";

/** Returns the job that replaces messages in Slack. An organization's jobs of this kind run one after the other. */
export const slackUpdateJob = (organization_id: string): NewJob<"slack.update"> => ({
  kind: "slack.update",
  payload: { organization_id },
  options: { organization_id, lane: `slack.update:${organization_id}` },
});

const insertJobs = insertJobsIfAny("shown_decisions");

interface Decided {
  organization_id: string;
  approval_id: string;
}

/**
 * Builds the writes for `runBatch` that mark Slack messages that show buttons for an approval, and add a job that replaces these
 * messages. If there are no such messages, no job is added.
 */
export const replaceShownDecisions = (ctx: Context, { organization_id, approval_id }: Decided): Write[] => [
  {
    name: "shown_decisions",
    query: {
      key: "shown decisions",
      build: (_db, value) => sql`update ${slack_decisions} set due_at = ${value("now")}::timestamptz
        where approval_id = ${value("approval_id")}::uuid and organization_id = ${value("organization_id")}::uuid returning id`,
      values: { now: ctx.now().toISOString(), approval_id, organization_id },
    },
  },
  insertJobs(ctx, [slackUpdateJob(organization_id)]),
];
