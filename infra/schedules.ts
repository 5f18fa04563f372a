import { scheduled, schedules } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { mayEnqueue } from "./queue.ts";

const RETRIES = 2;

/** One function runs every schedule; the event says which. `retries` repeats a run that failed inside it. */
export const scheduler = new sst.aws.Function("Scheduled", {
  ...common,
  ...sized(scheduled),
  handler: "packages/functions/src/schedule.handler",
  description: "Runs the schedules",
  environment,
  permissions: mayEnqueue,
  retries: RETRIES,
  transform: afterMigration,
});

// These retries repeat a hand-over that Lambda refused. There is no dead-letter queue: the next run does a lost run's
// work, and a function that keeps failing raises an alarm.
for (const [name, { every_minutes }] of Object.entries(schedules))
  new sst.aws.CronV2(`Schedule${name[0]?.toUpperCase()}${name.slice(1)}`, {
    schedule: `rate(${every_minutes} minutes)`,
    event: { schedule: name, scheduledTime: "<aws.scheduler.scheduled-time>" },
    retries: RETRIES,
    function: scheduler,
  });
