import { scheduleRunner, schedules } from "../packages/functions/src/manifest.ts";
import { bodyMovePermissions, omittedSchedules } from "./bodies.ts";
import { environment } from "./environment.ts";
import { commonFunctionArgs, toSizeArgs } from "./function.ts";
import { afterMigration } from "./migrate.ts";
import { enqueuePermissions, scheduleDeadLetters } from "./queue.ts";
import { tickMinutes } from "./tick.ts";

/** The number of retries if Lambda rejects an invocation, or if a scheduled run fails inside the function. */
const MAX_RETRIES = 2;
/** A scheduled run that has waited longer is dropped, because later runs have done its work. */
const MAX_EVENT_AGE_SECONDS = 15 * 60;

/** One function runs every schedule; the event names the schedule. A run that fails permanently becomes a dead letter. */
export const scheduler = new sst.aws.Function("Scheduled", {
  ...commonFunctionArgs,
  ...toSizeArgs(scheduleRunner),
  handler: "packages/functions/src/schedule.handler",
  description: "Runs the schedules",
  environment,
  permissions: [
    ...enqueuePermissions,
    ...bodyMovePermissions,
    { actions: ["sqs:SendMessage"], resources: [scheduleDeadLetters.arn] },
  ],
  retries: MAX_RETRIES,
  transform: {
    ...afterMigration,
    eventInvokeConfig: (args) => {
      args.maximumEventAgeInSeconds = MAX_EVENT_AGE_SECONDS;
      args.destinationConfig = { onFailure: { destination: scheduleDeadLetters.arn } };
    },
  },
});

/**
 * Returns the cron expression. All schedules run in the same minute, so that a suspended database is woken only once per interval.
 */
const toCronExpression = (minutes: number) => `cron(${minutes < 60 ? `0/${minutes}` : "0"} * * * ? *)` as const;

for (const [name, { every_minutes }] of Object.entries(schedules).filter(([name]) => !omittedSchedules.includes(name)))
  new sst.aws.CronV2(`Schedule${name[0]?.toUpperCase()}${name.slice(1)}`, {
    schedule: toCronExpression(Math.max(every_minutes, tickMinutes)),
    event: { schedule: name, scheduledTime: "<aws.scheduler.scheduled-time>" },
    retries: MAX_RETRIES,
    dlq: scheduleDeadLetters.arn,
    function: scheduler,
  });
