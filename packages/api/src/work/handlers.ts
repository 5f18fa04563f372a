import type { System } from "@board/core/context/actor";
import { cleanUpAgent } from "@board/openclaw/provisioning/cleanup";
import { configureHeartbeats } from "@board/openclaw/provisioning/heartbeat-config";
import { provisionAgent, updateAgentFiles } from "@board/openclaw/provisioning/provision";
import { checkWakeUp } from "@board/openclaw/provisioning/wake";
import { readAgentUsage } from "@board/openclaw/usage/read";
import { publishBoardEvent } from "@board/core/subscription/board-event";
import { probeHost } from "@board/openclaw/provisioning/probe";
import { mailAccount } from "@board/core/mail/account-mail";
import { mailInvite } from "@board/core/organization/invite-mail";
import { sendNotification } from "@board/core/notification/notification";
import { scheduleDeliveries } from "@board/core/channel/schedule";
import { emailChannel } from "@board/core/channel/email-channel";
import { pushChannel } from "@board/core/push/channel";
import { slackChannel } from "@board/core/slack/channel";
import { replyToSlack } from "@board/core/slack/reply";
import { updateSlackMessages } from "@board/core/slack/update";
import { sendDue } from "@board/core/channel/send-due";
import { tellPeople } from "@board/core/people/tell";
import { packSyncJob } from "@board/core/skill/sync-job";
import { deliverEvent } from "@board/core/subscription/deliver";
import { planSync, finalizeSync, syncOneAgent } from "@board/openclaw/sync/handlers";
import { sendToSession } from "@board/openclaw/provisioning/send";
import { notifyWebhook } from "@board/core/webhook/notify";
import type { Context } from "@board/core/context/context";
import type { JobHandlers } from "@board/core/job/handler";
import type { JobRow } from "@board/core/job/job";
import { runJob, runLeased } from "@board/core/job/runner";
import { CHANNELS } from "./channels.ts";

/** The handler of each kind of job. */
const handlers: JobHandlers = {
  "agent.cleanup": cleanUpAgent,
  "agent.provision": provisionAgent,
  "agent.read_usage": readAgentUsage,
  "agent.update": updateAgentFiles,
  "agent.wake_check": checkWakeUp,
  "config.heartbeat": configureHeartbeats,
  "event.publish": publishBoardEvent,
  "gateway.probe": probeHost,
  "account.mail": mailAccount,
  "invite.mail": mailInvite,
  notice: sendNotification(sendToSession),
  "people.email": sendDue(emailChannel),
  "people.push": sendDue(pushChannel),
  "people.slack": sendDue(slackChannel),
  "people.tell": tellPeople(scheduleDeliveries(CHANNELS)),
  "pack.sync": packSyncJob,
  "slack.reply": replyToSlack,
  "slack.update": updateSlackMessages,
  "sync.agent": syncOneAgent,
  "sync.finish": finalizeSync,
  "sync.start": planSync,
  "subscription.deliver": deliverEvent,
  "webhook.notify": notifyWebhook(sendToSession),
};

/** Runs one job if it can be leased now (see `runJob`). */
export const deliver = (ctx: Context<System>, id: string): Promise<void> => runJob(ctx, handlers, id);

/** Runs one job that the caller has leased (see `runLeased`). */
export const deliverLeased = (ctx: Context<System>, job: JobRow): Promise<void> => runLeased(ctx, handlers, job);
