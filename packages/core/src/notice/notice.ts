import { recordLateEvent } from "../activity/activity.ts";
import { hostLane } from "../agent/host.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import { findUsableGateway, sendVia } from "../gateway/send.ts";
import { enqueue, newJobs, type NewJob } from "../job/job.ts";
import type { JobEvent, NoticePayload } from "../job/kinds.ts";

/** An agent that can be written to, or not, as its row says. */
export interface Recipient {
  agent_id: string;
  name: string;
  gateway_id: string;
  organization_id: string;
  openclaw_session_id: string | null;
}

export interface Notice {
  message: string;
  /** False unless the reply may leave on the agent's own channel. */
  deliver?: boolean;
  sent?: JobEvent;
  failed?: JobEvent;
}

/** Tells an agent something, as a job in the caller's transaction. Agents without a session are skipped. */
export async function notify(ctx: Context, recipient: NoticeRecipient, notice: Notice): Promise<void> {
  for (const { kind, payload, options } of toNotices(recipient, notice)) await enqueue(ctx, kind, payload, options);
}

type NoticeRecipient = Omit<Recipient, "agent_id">;

/** The jobs of the same, still to be put with `newNotices`: none for an agent without a session. */
export function toNotices({ gateway_id, organization_id, name, openclaw_session_id }: NoticeRecipient, notice: Notice) {
  if (!openclaw_session_id) return [];
  const { message, deliver = false, sent, failed } = notice;
  const payload: NoticePayload = {
    gateway_id,
    session_key: openclaw_session_id,
    label: name,
    message,
    deliver,
    ...(sent ? { sent } : {}),
    ...(failed ? { failed } : {}),
  };
  const options = { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) };
  return [{ kind: "notice", payload, options } satisfies NewJob];
}
export type NewNotice = ReturnType<typeof toNotices>[number];

/** The insert of notices, for `writeTogether`: one however many, and none for none. Each agent gets its own in this order. */
export const newNotices = (ctx: Context, notices: readonly NewNotice[]) => (notices.length > 0 ? [newJobs(ctx, notices)] : []);

/** Sends the text; its key is the job's, so that a repeat is no second message. A gateway that is gone ends it quietly. */
export const deliverNotice: JobHandler<"notice"> = {
  async run(ctx, notice, { id }) {
    const gateway = await findUsableGateway(ctx, notice.gateway_id);
    if (!gateway) return;
    const { session_key, label, message, deliver, sent } = notice;
    await sendVia(ctx, gateway, { session_key, label, message, deliver, idempotency_key: `notice-${id}` });
    if (sent) return (ctx) => record(ctx, sent);
  },
  async failed(ctx, notice) {
    if (notice.failed) await record(ctx, notice.failed);
  },
};

const record = (ctx: Context, { event_type, ...event }: JobEvent) => recordLateEvent(ctx, event_type, event);
