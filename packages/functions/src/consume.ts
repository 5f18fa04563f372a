import { deliverMessage } from "@board/api/work/deliver-message";
import { createScopedLog, errorText, type ScopedLog } from "@board/core/values/log";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { createSystemContext, meter, relayJobs } from "./runtime.ts";

const WakeUpMessage = z.object({ id: z.uuid() });

/** Handles the messages of any queue. Only records that failed go back to the queue. */
export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  const results = await Promise.all(event.Records.map(processRecord));
  await meter.flush();
  return { batchItemFailures: results.flatMap((failed) => (failed ? [{ itemIdentifier: failed }] : [])) };
}

/**
 * Returns the message id when the record must be delivered again, else null. Each record has its own context and relay, so that the
 * next job of a lane is sent while slower jobs of the batch still run.
 */
async function processRecord({ messageId: message_id, attributes, body }: SQSRecord): Promise<string | null> {
  const ctx = createSystemContext();
  const log = createScopedLog(ctx.log, { message_id, receives: Number(attributes.ApproximateReceiveCount) });
  const job_id = parseJobId(body, log);
  const handled = job_id !== null && (await deliverMessage({ ...ctx, log }, job_id)) === "handled";
  // The relay sends the wake-up of the lane's next job, or schedules the next attempt of this job.
  await relayJobs(ctx);
  return handled ? null : message_id;
}

function parseJobId(body: string, log: ScopedLog): string | null {
  try {
    const { id } = WakeUpMessage.parse(JSON.parse(body));
    log.addFields({ job_id: id });
    return id;
  } catch (error) {
    log.error("jobs.consume_failed", errorText(error));
    return null;
  }
}
