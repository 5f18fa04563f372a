import type { System } from "../context/actor.ts";
import { cleanUpAgent } from "../provisioning/cleanup.ts";
import { configureHeartbeats } from "../provisioning/heartbeat-config.ts";
import { provisionAgent, updateAgentFiles } from "../provisioning/provision.ts";
import { checkWakeUp } from "../provisioning/wake.ts";
import { publishBoardEvent } from "../subscription/board-event.ts";
import { probeHost } from "../provisioning/probe.ts";
import { sendNotification } from "../notification/notification.ts";
import { packSyncJob } from "../skill/sync-job.ts";
import { deliverEvent } from "../subscription/deliver.ts";
import { planSync, finalizeSync, syncOneAgent } from "../sync/handlers.ts";
import { notifyWebhook } from "../webhook/notify.ts";
import type { Context } from "../context/context.ts";
import type { JobHandlers } from "../job/handler.ts";
import type { JobRow } from "../job/job.ts";
import { runJob, runLeased } from "../job/runner.ts";

/** The handler of each kind of job. */
const handlers: JobHandlers = {
  "agent.cleanup": cleanUpAgent,
  "agent.provision": provisionAgent,
  "agent.update": updateAgentFiles,
  "agent.wake_check": checkWakeUp,
  "config.heartbeat": configureHeartbeats,
  "event.publish": publishBoardEvent,
  "gateway.probe": probeHost,
  notice: sendNotification,
  "pack.sync": packSyncJob,
  "sync.agent": syncOneAgent,
  "sync.finish": finalizeSync,
  "sync.start": planSync,
  "subscription.deliver": deliverEvent,
  "webhook.notify": notifyWebhook,
};

/** Runs one job if it can be leased now; see `runJob`. */
export const deliver = (ctx: Context<System>, id: string): Promise<void> => runJob(ctx, handlers, id);

/** Runs one job that the caller has leased; see `runLeased`. */
export const deliverLeased = (ctx: Context<System>, job: JobRow): Promise<void> => runLeased(ctx, handlers, job);
