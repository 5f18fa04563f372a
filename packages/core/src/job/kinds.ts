import type { NewActivityEvent } from "../activity/event-type.ts";
import type { BoardEventPayload } from "../context/event-body.ts";
import type { ChatContent } from "../values/chat-content.ts";

/** An activity event to record when a job ends. */
export type JobEvent = NewActivityEvent;

/** A text or a command to send to an agent's session. */
export type NotificationPayload = ChatContent & {
  gateway_id: string;
  session_key: string;
  /** Name of the agent. */
  label: string;
  /** True lets the host deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
  /** Recorded when the host has accepted the text. */
  sent?: JobEvent;
  /** Recorded when the job is dead. */
  failed?: JobEvent;
  /** The task that the text is about. */
  task_id?: string;
};

/** Removes an agent from its host. When the gateway is deleted too, the job's secret holds the connection as JSON. */
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
  /** The agent's lifecycle generation; a job of an earlier generation does nothing. */
  generation: number;
  /** The user whose profile appears in the files; null for the organization's oldest owner. */
  user_id: string | null;
  /** True resets the agent's session. */
  reset: boolean;
  /** True sends the agent a text that makes it read its files and start. */
  wake: boolean;
  /** True lets the host deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
}

/** Checks whether a woken agent has checked in; if not, sends it the same text again. */
export interface WakeCheckPayload {
  agent_id: string;
  generation: number;
  verb: "provisioned" | "updated";
  deliver: boolean;
}

/** One agent of a template sync. */
export interface SyncAgentPayload {
  run_id: string;
  /** Id of the agent's row in the run. */
  run_agent_id: string;
  /** The host had no entry of the agent when the run started, so every file of its role is written. */
  first: boolean;
}

/** The payload of each kind of job: ids and small facts only. The handler reads the rest, so that it acts on current data. */
export interface JobPayloads {
  "agent.cleanup": CleanupPayload;
  /** The job's secret is the agent's new token. */
  "agent.provision": ProvisionPayload;
  "agent.update": ProvisionPayload & { force_bootstrap: boolean };
  "agent.wake_check": WakeCheckPayload;
  "config.heartbeat": { gateway_id: string; agent_ids: string[] };
  /** A snapshot: reading the data at delivery would show a later state. */
  "event.publish": BoardEventPayload;
  "gateway.probe": { gateway_id: string };
  notice: NotificationPayload;
  /** Syncs a skill pack whose request did not wait for the result. */
  "pack.sync": { run_id: string };
  /** Selects the agents of a template sync and creates a job for each. */
  "sync.start": { run_id: string };
  /** The job's secret is the agent's new token, or null when it keeps its token. */
  "sync.agent": SyncAgentPayload;
  /** Updates the host's configuration once for all agents of a template sync, and ends the run. */
  "sync.finish": { run_id: string };
  /** The delivery holds the event. The job's `subscription_id` is the owner of its slots. */
  "subscription.deliver": { subscription_id: string; delivery_id: string };
  "webhook.notify": {
    board_id: string;
    webhook_id: string;
    payload_id: string;
    /** Somebody asked to notify the agent once more, so that the host must not take it for the same text. */
    redelivery?: true;
  };
}
export type JobKind = keyof JobPayloads;

export interface JobRetryPolicy {
  attempts: number;
  first_seconds: number;
  max_seconds: number;
  /** The waits after each failed attempt, instead of the doubling ones. */
  waits_seconds?: readonly number[];
  /** Upper limit for the wait that the failing system asks for; ten minutes when it is left out. */
  max_retry_after_seconds?: number;
  /** Retries permanent failures too. Without it, a failure that the host calls permanent ends the job. */
  retry_permanent?: true;
  /** Retries while the host refuses the service, because its operator may be about to approve it. */
  retry_refusal?: true;
}

/** Attempts and backoff of each kind of job (docs/reference/gateways.md#job-kinds). */
export const RETRY_POLICIES: Readonly<Record<JobKind, JobRetryPolicy>> = {
  "agent.cleanup": { attempts: 10, first_seconds: 10, max_seconds: 600, retry_refusal: true },
  "agent.provision": { attempts: 8, first_seconds: 5, max_seconds: 300, retry_refusal: true },
  "agent.update": { attempts: 8, first_seconds: 5, max_seconds: 300, retry_refusal: true },
  "agent.wake_check": { attempts: 1, first_seconds: 30, max_seconds: 30 },
  // While others write to its configuration, a host may call a failure permanent that passes a moment later.
  "config.heartbeat": { attempts: 6, first_seconds: 10, max_seconds: 120, retry_permanent: true },
  // No refusal is permanent: a bus that refuses an event for a missing permission accepts it once that is granted.
  "event.publish": { attempts: 10, first_seconds: 5, max_seconds: 600, retry_permanent: true },
  "gateway.probe": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  notice: { attempts: 6, first_seconds: 10, max_seconds: 120 },
  // The run records the failure, and the user starts another sync.
  "pack.sync": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  // Each attempt already waits for a host to restart, and four of them span minutes. After that, reporting that the host is
  // unreachable helps the user more than further waiting.
  "sync.start": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  "sync.agent": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  // As for config.heartbeat. Hosts that limit such calls ask for a wait of a minute.
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

/** Milliseconds to wait after the given failed attempt (the first is 1): exponential backoff with a cap and ±10 % jitter. */
export function backoff(policy: JobRetryPolicy, attempt: number, random: () => number = Math.random): number {
  return Math.round(secondsAfter(policy, attempt) * 1000 * (1 + JITTER * (2 * random() - 1)));
}

/** Milliseconds from the next attempt to the last one, if each of them fails at once. */
export function remainingRetryMs(policy: JobRetryPolicy, attempts: number): number {
  let seconds = 0;
  for (let attempt = attempts + 1; attempt < policy.attempts; attempt++) seconds += secondsAfter(policy, attempt);
  return seconds * 1000;
}

/** Each queue has separate consumers, so that syncs, probes of dead hosts and silent receivers do not delay notifications. */
export const QUEUES = ["deliveries", "syncs", "probes", "outbound"] as const;
export type QueueName = (typeof QUEUES)[number];

/** The queues of the kinds that are not of `deliveries`. */
export const QUEUE_BY_KIND: Readonly<Record<string, QueueName>> = {
  "gateway.probe": "probes",
  "pack.sync": "syncs",
  "subscription.deliver": "outbound",
  "sync.agent": "syncs",
  "sync.finish": "syncs",
  "sync.start": "syncs",
} satisfies { [K in JobKind]?: QueueName };

/** The queue that carries the wake-ups of a kind. */
export const queueOf = (kind: string): QueueName => QUEUE_BY_KIND[kind] ?? "deliveries";

/** The kinds of the queue `syncs`. They have their own slots, so that a sync does not delay notifications. */
export const SYNC_KINDS = Object.keys(QUEUE_BY_KIND).filter((kind) => queueOf(kind) === "syncs");

/**
 * Kinds outside the budgets of running jobs: a probe ends within seconds, an event goes to the operator's own bus, and
 * deliveries of subscriptions have their own budgets.
 */
export const UNBUDGETED_KINDS: readonly JobKind[] = ["event.publish", "gateway.probe", "subscription.deliver"];

/** Kinds that a host is owed: once it accepts the service again, those that were given up are done. */
export const OWED_KINDS: readonly JobKind[] = ["agent.cleanup", "agent.update", "config.heartbeat"];

/** Kinds that run while a circuit is open: the probe closes it, and a wake check counts a host that is down as no check-in. */
export const CIRCUIT_FREE_KINDS: readonly JobKind[] = ["agent.wake_check", "gateway.probe"];
