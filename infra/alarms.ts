import { deliveries, type Queue, stream, syncs } from "../packages/functions/src/manifest.ts";
import { alarm, alarmOn, MOST_METRICS } from "./alarm.ts";
import { apiFunctions } from "./api.ts";
import { deliverer } from "./deliveries.ts";
import { deadJobs } from "./dead-jobs.ts";
import { ofApi, ofFunction, ofQueue, ofService } from "./metrics.ts";
import { deadLetters, queue, scheduleDeadLetters, syncDeadLetters, syncQueue } from "./queue.ts";
import { stageOf } from "./stage.ts";
import { streams } from "./stream.ts";
import { syncer } from "./syncs.ts";
import { tickMinutes } from "./tick.ts";

const letters = (queue: sst.aws.Queue) => ofQueue(queue, "ApproximateNumberOfMessagesVisible");

alarm("DeadLettersPresent", letters(deadLetters), {
  means: "A delivery failed every time it was received: a bug or a broken function, never a host that is down",
  section: "Dead letters",
  threshold: 0,
});
alarm("SyncDeadLettersPresent", letters(syncDeadLetters), {
  means: "A part of a template or pack sync failed every time it was received: a bug or a broken function",
  section: "Dead letters",
  threshold: 0,
});
alarm("JobsGivenUp", deadJobs, {
  means: "A job was given up after its last attempt: a host was away for too long, or refuses what it is told",
  section: "Dead letters",
  threshold: 0,
});
alarm("ScheduleDeadLettersPresent", letters(scheduleDeadLetters), {
  means:
    "A scheduled run was lost: it failed each time, or could not be handed over. With no requests this is how an unreachable database shows",
  section: "A schedule fails",
  threshold: 0,
});

function alarmLate(name: string, what: string, late: sst.aws.Queue, { visibility_seconds }: Queue) {
  alarm(name, ofQueue(late, "ApproximateAgeOfOldestMessage"), {
    means: `${what} are picked up later than a second attempt would come: the consumer is down or too slow`,
    section: "A queue is late",
    threshold: 2 * visibility_seconds,
  });
}
alarmLate("DeliveriesLate", "Deliveries", queue, deliveries);
alarmLate("SyncsLate", "Parts of template and pack syncs", syncQueue, syncs);

// Measured at every tick, before that tick sends what an earlier failure left behind.
alarm("JobsWait", ofService("JobAge", "Maximum", tickMinutes * 60), {
  means: "The oldest job that could be done has been waiting for longer than a tick and ten minutes: wake-ups do not arrive",
  section: "Jobs wait",
  threshold: (tickMinutes + 10) * 60,
});

// A share, so that it means the same by day and by night; of a few errors at least, so that a single one wakes nobody.
alarmOn(
  "ApiErrors",
  "IF(errors >= 5, 100 * errors / requests, 0)",
  { errors: ofApi("5xx"), requests: ofApi("Count") },
  {
    means:
      "More than 5 % of the requests of five minutes were answered with 5xx: a bug, the database is unreachable or slow, or hosts do not answer (502)",
    section: "Errors",
    threshold: 5,
  },
);
alarmOn(
  "ConsumersFailing",
  "SUM(FILL(METRICS(), 0))",
  { deliveries: ofFunction(deliverer.name, "Errors"), syncs: ofFunction(syncer.name, "Errors") },
  {
    means:
      "A consumer ended without an answer several times in five minutes: it crashes, runs out of time or memory, or does not start",
    section: "Errors",
    threshold: 2,
  },
);

// Requests that API Gateway itself refuses (429) are its limit at work; here a request got through and found no sandbox.
const throttled = [...apiFunctions, streams].map(({ name }) => ofFunction(name, "Throttles"));
for (let part = 0; part * MOST_METRICS < throttled.length; part += 1)
  alarmOn(
    `FunctionsThrottled${part + 1}`,
    "SUM(FILL(METRICS(), 0))",
    Object.fromEntries(
      throttled.slice(part * MOST_METRICS, (part + 1) * MOST_METRICS).map((metric, index) => [`m${index}`, metric]),
    ),
    {
      means: "Requests found no sandbox: a function is at its cap, or the account at its limit of concurrency",
      section: "Throttles",
      threshold: 5,
    },
  );

if (stageOf($app.stage).caps)
  alarm("StreamsNearlyFull", ofFunction(streams.name, "ConcurrentExecutions", "Maximum"), {
    means: `More than 80 % of the ${stream.max_concurrency} streams that may be open at a time are`,
    section: "Streams are full",
    threshold: 0.8 * stream.max_concurrency,
  });
