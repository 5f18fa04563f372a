import type { NewActivityEvent } from "../activity/event-type.ts";
import type { AlertPayload } from "../context/alert.ts";
import type { BoardEventPayload } from "../context/event-body.ts";
import type { ChatContent } from "../values/chat-content.ts";

/** The activity event that a job records at its end. */
export type JobEvent = NewActivityEvent;

/** A message or a command to an agent's session. */
export type NotificationPayload = ChatContent & {
  gateway_id: string;
  session_key: string;
  /** The agent's name. */
  label: string;
  /** Whether the host may deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
  /** The event to record when the host has accepted the message. */
  sent?: JobEvent;
  /** The event to record when the job is dead. */
  failed?: JobEvent;
  /** The task that the message is about. */
  task_id?: string;
};

/**
 * Removes an agent from its host. If the gateway is deleted too, the job's secret is the gateway's connection data
 * (`GatewayTarget`) as JSON.
 */
export interface CleanupPayload {
  gateway_id: string;
  session_key: string;
  agent_name: string;
  organization_id: string;
  board_id: string | null;
}

/** Creates an agent on its host, or updates its files there. */
export interface ProvisionPayload {
  agent_id: string;
  /** The agent's lifecycle generation. A job of an earlier generation does nothing. */
  generation: number;
  /** The user whose profile goes into the files; null for the organization's oldest owner. */
  user_id: string | null;
  /** True resets the agent's session. */
  reset: boolean;
  /** True sends the agent a message that makes it read its files and start. */
  wake: boolean;
  /** Whether the host may deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
}

/** Checks whether a woken agent has checked in. If it has not, sends it the same message again. */
export interface WakeCheckPayload {
  agent_id: string;
  generation: number;
  verb: "provisioned" | "updated";
  deliver: boolean;
}

/** One agent of a template sync. */
export interface SyncAgentPayload {
  run_id: string;
  /** The id of the agent's row in the run. */
  run_agent_id: string;
  /** True if the host had no entry for the agent when the run started. In that case all files of the agent's role are written. */
  first: boolean;
}

/** The answer to a button in Slack. The job's secret is the address that the answer is sent to. */
export interface SlackReplyPayload {
  organization_id: string;
  board_id: string;
  approval_id: string;
  outcome: "decided" | "not_linked" | "not_valid";
}

/**
 * The payload of each kind of job. It contains ids and a few small values. The handler reads everything else, so that it acts on
 * current data.
 */
export interface JobPayloads {
  /** The job's secret is the mail as JSON. */
  "account.mail": Record<string, never>;
  "agent.cleanup": CleanupPayload;
  /** The job's secret is the agent's new token. */
  "agent.provision": ProvisionPayload;
  /** Reads from the agent's host how many tokens the agent has used. */
  "agent.read_usage": { agent_id: string };
  /** With `rotates_token`, the job's secret is the agent's new token. Otherwise the agent keeps its token. */
  "agent.update": ProvisionPayload & { force_bootstrap: boolean; rotates_token?: true };
  "agent.wake_check": WakeCheckPayload;
  "config.heartbeat": { gateway_id: string; agent_ids: string[] };
  /** The event itself, because reading the data at delivery would show a later state. */
  "event.publish": BoardEventPayload;
  "gateway.probe": { gateway_id: string };
  /** Sends the link of an invite to the invited person. */
  "invite.mail": { invite_id: string };
  notice: NotificationPayload;
  /** Stores an alert in the inboxes of the people it concerns. Each job handles a part of them and enqueues the next job. */
  "people.tell": AlertPayload;
  /** Sends all due e-mails to people of an organization. Each delivery is a row that counts its attempts. */
  "people.email": { organization_id: string };
  /** Works like `people.email`, but sends by web push. */
  "people.push": { organization_id: string };
  "people.slack": { organization_id: string };
  "slack.reply": SlackReplyPayload;
  /** Replaces messages in Slack whose decision was made elsewhere, or whose buttons have expired. */
  "slack.update": { organization_id: string };
  /** Syncs a skill pack for a request that did not wait for the result. */
  "pack.sync": { run_id: string };
  /** Selects the agents of a template sync and creates a job for each. */
  "sync.start": { run_id: string };
  /** The job's secret is the agent's new token. It is null when the agent keeps its token. */
  "sync.agent": SyncAgentPayload;
  /** Updates the host's configuration once for all agents of a template sync, and ends the run. */
  "sync.finish": { run_id: string };
  /** The row of the delivery contains the event. The job's `subscription_id` says whose slots the job uses. */
  "subscription.deliver": { subscription_id: string; delivery_id: string };
  "webhook.notify": {
    board_id: string;
    webhook_id: string;
    payload_id: string;
    /** Set if a person asked to notify the agent again, so that the host does not treat the message as a repeat. */
    redelivery?: true;
  };
}
export type JobKind = keyof JobPayloads;

export interface JobRetryPolicy {
  attempts: number;
  first_seconds: number;
  max_seconds: number;
  /** The wait after each failed attempt, if it should not simply double each time. */
  waits_seconds?: readonly number[];
  /** The maximum wait that the failing system may ask for; ten minutes by default. */
  max_retry_after_seconds?: number;
  /** Retries failures that the host calls permanent. By default, such a failure ends the job. */
  retry_permanent?: true;
  /** Retries while the host refuses the service, because the host's operator may be about to approve it. */
  retry_refusal?: true;
}

/** Attempts and backoff of each kind of job (docs/reference/gateways.md#job-kinds). */
export const RETRY_POLICIES: Readonly<Record<JobKind, JobRetryPolicy>> = {
  // The attempts end within five minutes, because the link in the mail is valid for only that long.
  "account.mail": { attempts: 5, first_seconds: 5, max_seconds: 60 },
  "agent.cleanup": { attempts: 10, first_seconds: 10, max_seconds: 600, retry_refusal: true },
  "agent.provision": { attempts: 8, first_seconds: 5, max_seconds: 300, retry_refusal: true },
  "agent.update": { attempts: 8, first_seconds: 5, max_seconds: 300, retry_refusal: true },
  // This job is not retried, because hosts report totals. The next job of this kind records the missing usage as well.
  "agent.read_usage": { attempts: 1, first_seconds: 30, max_seconds: 30 },
  "agent.wake_check": { attempts: 1, first_seconds: 30, max_seconds: 30 },
  // While other jobs write to the configuration of a host, the host may report a failure as permanent although a retry would
  // succeed.
  "config.heartbeat": { attempts: 6, first_seconds: 10, max_seconds: 120, retry_permanent: true },
  // No refusal is permanent. For example, a bus that refuses an event because of a missing permission accepts it once somebody
  // grants the permission.
  "event.publish": { attempts: 10, first_seconds: 5, max_seconds: 600, retry_permanent: true },
  "gateway.probe": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  "invite.mail": { attempts: 6, first_seconds: 5, max_seconds: 300 },
  notice: { attempts: 6, first_seconds: 10, max_seconds: 120 },
  "people.email": { attempts: 6, first_seconds: 5, max_seconds: 300 },
  "people.push": { attempts: 6, first_seconds: 5, max_seconds: 300 },
  "people.slack": { attempts: 6, first_seconds: 5, max_seconds: 300 },
  // Slack accepts answers at the address for half an hour. All attempts take place within this time.
  "slack.reply": { attempts: 6, first_seconds: 2, max_seconds: 300 },
  "slack.update": { attempts: 6, first_seconds: 5, max_seconds: 300, max_retry_after_seconds: 3_600 },
  "people.tell": { attempts: 6, first_seconds: 5, max_seconds: 300 },
  // This job is not retried, because the result of the sync shows the failure, and the user starts another sync.
  "pack.sync": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  // Each attempt already waits for a restarting host, and four attempts take minutes. After that, a report that the host is
  // unreachable helps the user more than waiting longer.
  "sync.start": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  "sync.agent": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  // Permanent failures are retried for the same reason as those of `config.heartbeat`. Hosts that limit configuration changes ask
  // the service to wait for a minute.
  "sync.finish": { attempts: 4, first_seconds: 5, max_seconds: 60, retry_permanent: true },
  "subscription.deliver": {
    attempts: 8,
    first_seconds: 5,
    max_seconds: 36_000,
    waits_seconds: [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
    max_retry_after_seconds: 3_600,
    retry_permanent: true,
  },
  "webhook.notify": { attempts: 12, first_seconds: 10, max_seconds: 600, retry_permanent: true },
};

const JITTER = 0.1;

const secondsAfter = ({ first_seconds, max_seconds, waits_seconds }: JobRetryPolicy, attempt: number) =>
  waits_seconds?.[attempt - 1] ?? Math.min(first_seconds * 2 ** (attempt - 1), max_seconds);

/**
 * Returns the milliseconds to wait after a failed attempt (the first attempt is 1): exponential backoff with a cap and ±10 %
 * jitter.
 */
export function backoff(policy: JobRetryPolicy, attempt: number, random: () => number = Math.random): number {
  return Math.round(secondsAfter(policy, attempt) * 1000 * (1 + JITTER * (2 * random() - 1)));
}

/** Returns the milliseconds from the next attempt to the last one if all of them fail immediately. */
export function remainingRetryMs(policy: JobRetryPolicy, attempts: number): number {
  let seconds = 0;
  for (let attempt = attempts + 1; attempt < policy.attempts; attempt++) seconds += secondsAfter(policy, attempt);
  return seconds * 1000;
}

/** Each queue has its own consumers, so that syncs, probes of unreachable hosts and slow receivers do not delay notifications. */
export const QUEUES = ["deliveries", "syncs", "probes", "outbound"] as const;
export type QueueName = (typeof QUEUES)[number];

/** The queue of each kind that does not use the queue `deliveries`. */
export const QUEUE_BY_KIND: Readonly<Record<string, QueueName>> = {
  "account.mail": "outbound",
  "gateway.probe": "probes",
  "invite.mail": "outbound",
  "pack.sync": "syncs",
  "people.email": "outbound",
  "people.push": "outbound",
  "people.slack": "outbound",
  "slack.reply": "outbound",
  "slack.update": "outbound",
  "subscription.deliver": "outbound",
  "sync.agent": "syncs",
  "sync.finish": "syncs",
  "sync.start": "syncs",
} satisfies { [K in JobKind]?: QueueName };

/** Returns the queue that carries the wake-ups of a kind. */
export const queueOf = (kind: string): QueueName => QUEUE_BY_KIND[kind] ?? "deliveries";

/** The kinds of the queue `syncs`. They have their own slots, so that a sync does not delay notifications. */
export const SYNC_KINDS = Object.keys(QUEUE_BY_KIND).filter((kind) => queueOf(kind) === "syncs");

/**
 * Kinds that do not count toward the limits of running jobs: a probe ends within seconds, an event goes to the operator's bus, and
 * deliveries of subscriptions have separate limits.
 */
export const UNBUDGETED_KINDS: readonly JobKind[] = ["event.publish", "gateway.probe", "subscription.deliver"];

/**
 * Kinds whose work must reach the host eventually. When the host accepts the service again, dead jobs of these kinds are queued
 * again.
 */
export const RESUMED_KINDS: readonly JobKind[] = ["agent.cleanup", "agent.update", "config.heartbeat"];

/**
 * Kinds that run while a circuit is open. The probe closes the circuit. The wake check reports that an agent has not checked in,
 * even if the agent's host is down.
 */
export const CIRCUIT_FREE_KINDS: readonly JobKind[] = ["agent.read_usage", "agent.wake_check", "gateway.probe"];
