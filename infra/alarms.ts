import { deliveries, outbound, probes, type Queue, stream, syncs } from "../packages/functions/src/manifest.ts";
import { accountConcurrency } from "./account.ts";
import { alarm, expressionAlarm, MAX_METRICS_PER_ALARM } from "./alarm.ts";
import { apiFunctions } from "./api.ts";
import { deliveriesConsumer } from "./deliveries.ts";
import { deadJobsMetric } from "./dead-jobs.ts";
import {
  accountMetric,
  apiMetric,
  FIVE_MINUTES,
  functionMetric,
  queueMetric,
  serviceMetric,
  containerMetric,
} from "./metrics.ts";
import {
  deliveryDeadLetters,
  deliveryQueue,
  outboundDeadLetters,
  outboundQueue,
  probeDeadLetters,
  probeQueue,
  scheduleDeadLetters,
  syncDeadLetters,
  syncQueue,
} from "./queue.ts";
import { outboundConsumer } from "./outbound.ts";
import { probesConsumer } from "./probes.ts";
import { stageSettings } from "./stage.ts";
import { streamFunction, streamService } from "./stream.ts";
import { syncsConsumer } from "./syncs.ts";
import { tickMinutes } from "./tick.ts";

const visibleMessages = (queue: sst.aws.Queue) => queueMetric(queue, "ApproximateNumberOfMessagesVisible");

alarm("DeadLettersPresent", visibleMessages(deliveryDeadLetters), {
  summary: "A delivery failed each time it was received. The cause is a bug or a broken function, never an unreachable host",
  section: "Dead letters",
  threshold: 0,
});
alarm("SyncDeadLettersPresent", visibleMessages(syncDeadLetters), {
  summary: "Part of a template or skill pack sync failed each time it was received. The cause is a bug or a broken function",
  section: "Dead letters",
  threshold: 0,
});
alarm("ProbeDeadLettersPresent", visibleMessages(probeDeadLetters), {
  summary: "A probe failed each time it was received. The cause is a bug or a broken function, never an unreachable host",
  section: "Dead letters",
  threshold: 0,
});
alarm("OutboundDeadLettersPresent", visibleMessages(outboundDeadLetters), {
  summary:
    "A delivery to a subscription failed each time it was received. The cause is a bug or a broken function, never a receiver",
  section: "Dead letters",
  threshold: 0,
});
alarm("JobsGivenUp", deadJobsMetric, {
  summary: "A job is dead after its last attempt: a host was unreachable for too long, or rejected the request",
  section: "Dead letters",
  threshold: 0,
});
alarm("ScheduleDeadLettersPresent", visibleMessages(scheduleDeadLetters), {
  summary: "A scheduled run was lost: it failed each time or could not be invoked. The cause may be an unreachable database",
  section: "A schedule fails",
  threshold: 0,
});

function messageAgeAlarm(name: string, label: string, queue: sst.aws.Queue, { visibility_seconds }: Queue) {
  alarm(name, queueMetric(queue, "ApproximateAgeOfOldestMessage"), {
    summary: `${label} wait longer than two visibility timeouts: the consumer is down or too slow`,
    section: "A queue is late",
    threshold: 2 * visibility_seconds,
  });
}
messageAgeAlarm("DeliveriesLate", "Deliveries", deliveryQueue, deliveries);
messageAgeAlarm("SyncsLate", "Parts of template and pack syncs", syncQueue, syncs);
messageAgeAlarm("ProbesLate", "Probes of hosts", probeQueue, probes);
messageAgeAlarm("OutboundLate", "Deliveries to subscriptions", outboundQueue, outbound);

// Each run of the relay schedule records JobAge before it sends the overdue wake-ups.
alarm("JobsWait", serviceMetric("JobAge", "Maximum", tickMinutes * 60), {
  summary: "The oldest due job has waited for more than ten minutes after a scheduled run: wake-ups do not arrive",
  section: "Jobs wait",
  threshold: (tickMinutes + 10) * 60,
});

// One late run can leave a period empty, so only several empty periods in a row mean that no schedule runs.
alarm("SchedulesStopped", serviceMetric("JobAge", "SampleCount", tickMinutes * 60), {
  summary: "No scheduled run has reported for three intervals: lost wake-ups, due syncs and silent agents go unnoticed",
  section: "Schedules have stopped",
  threshold: 1,
  periods: { of: 3, breaching: 3 },
  when_missing: true,
});

// Two periods, because posts that waited for a host raise the percentile once, when the host comes back.
alarm("DeliveriesSlow", serviceMetric("IngestLag", "p99", FIVE_MINUTES), {
  summary: "At least one in a hundred webhook posts reached its agent later than the target of five seconds",
  section: "Deliveries take long",
  threshold: 5_000,
  periods: { of: 3, breaching: 2 },
});

// The relay schedule records this age too. It stays low, because the database ends a transaction after a minute without statements.
alarm("StreamsLate", serviceMetric("StreamHorizonAge", "Maximum", tickMinutes * 60), {
  summary: "A transaction has been open in the database for more than a minute: all streams wait for it to end",
  section: "Streams are late",
  threshold: 60,
});

// A ratio works for high and low traffic alike. At least five errors are required, so that a single error raises no alarm.
expressionAlarm(
  "ApiErrors",
  "IF(errors >= 5, 100 * errors / requests, 0)",
  { errors: apiMetric("5xx"), requests: apiMetric("Count") },
  {
    summary:
      "More than 5 % of the requests within five minutes failed with 5xx: a bug, an unreachable or slow database, or unreachable hosts (502)",
    section: "Errors",
    threshold: 5,
  },
);
expressionAlarm(
  "ConsumersFailing",
  "SUM(FILL(METRICS(), 0))",
  {
    deliveries: functionMetric(deliveriesConsumer.name, "Errors"),
    syncs: functionMetric(syncsConsumer.name, "Errors"),
    probes: functionMetric(probesConsumer.name, "Errors"),
    outbound: functionMetric(outboundConsumer.name, "Errors"),
  },
  {
    summary: "A consumer failed several times within five minutes: it crashes, exceeds its time or memory, or does not start",
    section: "Errors",
    threshold: 2,
  },
);

// Counts requests that reached Lambda but got no sandbox. API Gateway's own 429 responses are not counted, because they follow a
// configured limit.
const throttles = [...apiFunctions, ...(streamFunction ? [streamFunction] : [])].map(({ name }) =>
  functionMetric(name, "Throttles"),
);
for (let part = 0; part * MAX_METRICS_PER_ALARM < throttles.length; part += 1)
  expressionAlarm(
    `FunctionsThrottled${part + 1}`,
    "SUM(FILL(METRICS(), 0))",
    Object.fromEntries(
      throttles
        .slice(part * MAX_METRICS_PER_ALARM, (part + 1) * MAX_METRICS_PER_ALARM)
        .map((metric, index) => [`m${index}`, metric]),
    ),
    {
      summary: "Requests were throttled: a function has reached its concurrency limit, or the account has",
      section: "Throttles",
      threshold: 5,
    },
  );

// The metric includes concurrency that is reserved for single functions, and the concurrency of other programs in the account.
alarm("AccountConcurrencyHigh", accountMetric("ClaimedAccountConcurrency"), {
  summary: `More than 80 % of the ${accountConcurrency} concurrent executions of the account are in use: soon requests are throttled`,
  section: "Concurrency of the account",
  threshold: 0.8 * accountConcurrency,
});

if (streamFunction && stageSettings($app.stage).reserve_concurrency)
  alarm("StreamsNearlyFull", functionMetric(streamFunction.name, "ConcurrentExecutions", "Maximum"), {
    summary: `More than 80 % of the ${stream.max_concurrency} possible concurrent streams are open`,
    section: "Streams are full",
    threshold: 0.8 * stream.max_concurrency,
  });

if (streamService) {
  alarm("StreamsDown", containerMetric(streamService.dimensions, "CPUUtilization", "SampleCount"), {
    summary: "No container of streams has been running for three minutes: pages do not update by themselves",
    section: "The container of streams",
    threshold: 1,
    periods: { of: 3, breaching: 3 },
    when_missing: true,
  });
  for (const metricName of ["CPUUtilization", "MemoryUtilization"])
    alarm(`Streams${metricName}`, containerMetric(streamService.dimensions, metricName, "Maximum"), {
      summary: "The container of streams is nearly at its limit: streams become late or break",
      section: "The container of streams",
      threshold: 80,
      periods: { of: 3, breaching: 3 },
    });
}
