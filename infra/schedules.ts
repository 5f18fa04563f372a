import { scheduled, schedules } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { common, sized } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { mayEnqueue, scheduleDeadLetters } from "./queue.ts";
import { tickMinutes } from "./tick.ts";

/** Of a hand-over that Lambda refused, and again of a run that failed inside the function. */
const RETRIES = 2;
/** A run that waited longer is pointless: the next ones have done its work. */
const STALE_SECONDS = 15 * 60;

/** One function runs every schedule; the event says which. What fails for good is kept as a dead letter. */
export const scheduler = new sst.aws.Function("Scheduled", {
  ...common,
  ...sized(scheduled),
  handler: "packages/functions/src/schedule.handler",
  description: "Runs the schedules",
  environment,
  permissions: [...mayEnqueue, { actions: ["sqs:SendMessage"], resources: [scheduleDeadLetters.arn] }],
  retries: RETRIES,
  transform: {
    ...afterMigration,
    eventInvokeConfig: (args) => {
      args.maximumEventAgeInSeconds = STALE_SECONDS;
      args.destinationConfig = { onFailure: { destination: scheduleDeadLetters.arn } };
    },
  },
});

/** On the clock, so that all run in the same minute: one visit wakes the database, and it has the rest of the time to sleep. */
const clock = (minutes: number) => `cron(${minutes < 60 ? `0/${minutes}` : "0"} * * * ? *)` as const;

for (const [name, { every_minutes }] of Object.entries(schedules))
  new sst.aws.CronV2(`Schedule${name[0]?.toUpperCase()}${name.slice(1)}`, {
    schedule: clock(Math.max(every_minutes, tickMinutes)),
    event: { schedule: name, scheduledTime: "<aws.scheduler.scheduled-time>" },
    retries: RETRIES,
    dlq: scheduleDeadLetters.arn,
    function: scheduler,
  });
