import type { TypedEvent } from "../activity/activity.ts";
import type { BoardEventPayload } from "../board-event/board-event.ts";

/** An event to record when a job ends. */
export type JobEvent = TypedEvent;

/** A text for one agent's session. */
export interface NoticePayload {
  gateway_id: string;
  session_key: string;
  /** Name of the agent. */
  label: string;
  message: string;
  /** True lets the agent's reply leave on its own channel. */
  deliver: boolean;
  /** Recorded when the text was sent, or when it is given up. */
  sent?: JobEvent;
  failed?: JobEvent;
}

/** Removal of an agent from its host. When the gateway is removed too, the job's secret holds the connection as JSON. */
export interface CleanupPayload {
  gateway_id: string;
  session_key: string;
  agent_name: string;
  organization_id: string;
  board_id: string | null;
}

/** Bringing an agent onto its host, or its files there up to date. */
export interface ProvisionPayload {
  agent_id: string;
  /** Of the agent's life; a job of an earlier one has nothing left to do. */
  generation: number;
  /** Whose profile the files show; null for the oldest owner's. */
  user_id: string | null;
  /** The session starts anew. */
  reset: boolean;
  /** The agent is told to read its files and to begin. */
  wake: boolean;
  /** True lets the answer to that leave on the agent's own channel. */
  deliver: boolean;
}

/** A look whether an agent that was woken has answered; if not, it is woken again in the same words. */
export interface WakeCheckPayload {
  agent_id: string;
  generation: number;
  verb: "provisioned" | "updated";
  deliver: boolean;
}

/** One agent of a template sync. */
export interface SyncAgentPayload {
  run_id: string;
  /** Its row in the run. */
  run_agent_id: string;
  /** The host had nothing of the agent when the run began, so that every file of its role is written. */
  first: boolean;
}

/** What each kind of job carries. Ids and small facts only: the handler reads the rest, so that it acts on the truth of the moment. */
export interface JobPayloads {
  "agent.cleanup": CleanupPayload;
  /** The job's secret is the agent's new token. */
  "agent.provision": ProvisionPayload;
  "agent.update": ProvisionPayload & { force_bootstrap: boolean };
  "agent.wake_check": WakeCheckPayload;
  "config.heartbeat": { gateway_id: string; agent_ids: string[] };
  /** What happened as it was: read anew it would be another state. */
  "event.publish": BoardEventPayload;
  "gateway.probe": { gateway_id: string };
  notice: NoticePayload;
  /** Reads a pack of skills whose request did not wait for it. */
  "pack.sync": { run_id: string };
  /** Looks which agents a template sync is for, and makes a job for each. */
  "sync.start": { run_id: string };
  /** The job's secret is the agent's new token, if it gets one. */
  "sync.agent": SyncAgentPayload;
  /** What is done once for all agents of a template sync. */
  "sync.finish": { run_id: string };
  "webhook.notify": { board_id: string; webhook_id: string; payload_id: string };
}
export type JobKind = keyof JobPayloads;

export interface RetryPolicy {
  attempts: number;
  first_seconds: number;
  max_seconds: number;
  /** Also a failure that a host calls final is tried again; otherwise it ends the job. */
  stubborn?: true;
}

/** Contract gateways.md §13. */
export const POLICIES: Readonly<Record<JobKind, RetryPolicy>> = {
  "agent.cleanup": { attempts: 10, first_seconds: 10, max_seconds: 600 },
  "agent.provision": { attempts: 8, first_seconds: 5, max_seconds: 300 },
  "agent.update": { attempts: 8, first_seconds: 5, max_seconds: 300 },
  "agent.wake_check": { attempts: 1, first_seconds: 30, max_seconds: 30 },
  // Others who write to the host's configuration at the same time make it refuse for good what may pass a moment later.
  "config.heartbeat": { attempts: 6, first_seconds: 10, max_seconds: 120, stubborn: true },
  // Nothing of an event is wrong for good; a bus that refuses it for want of a permission takes it once that is given.
  "event.publish": { attempts: 10, first_seconds: 5, max_seconds: 600, stubborn: true },
  "gateway.probe": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  notice: { attempts: 6, first_seconds: 10, max_seconds: 120 },
  // What fails is told by the run, and whoever waits for it syncs again.
  "pack.sync": { attempts: 1, first_seconds: 10, max_seconds: 10 },
  // A restart of the host is sat out within an attempt. Four of them span minutes: whoever waits for a run should rather
  // be told that the host is away, and sync again later, than wait on.
  "sync.start": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  "sync.agent": { attempts: 4, first_seconds: 5, max_seconds: 60 },
  // As for config.heartbeat; and hosts that count such calls ask for a minute's wait.
  "sync.finish": { attempts: 4, first_seconds: 5, max_seconds: 60, stubborn: true },
  "webhook.notify": { attempts: 12, first_seconds: 10, max_seconds: 600, stubborn: true },
};

const JITTER = 0.1;

/** Milliseconds to wait after the given attempt failed (the first is 1): doubling, capped, ±10 %. */
export function backoff(policy: RetryPolicy, attempt: number, random: () => number = Math.random): number {
  const seconds = Math.min(policy.first_seconds * 2 ** (attempt - 1), policy.max_seconds);
  return Math.round(seconds * 1000 * (1 + JITTER * (2 * random() - 1)));
}

/** The queues, each with consumers of its own: a sync of many agents must not hold up what agents are told. */
export type QueueName = "deliveries" | "syncs";

/** The queue that wakes up for jobs of a kind. */
export const queueOf = (kind: string): QueueName => (/^(sync\.|pack\.sync$)/.test(kind) ? "syncs" : "deliveries");
