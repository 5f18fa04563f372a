import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliverMessage } from "@board/core/deliver-message";
import { createScopedLog, errorText, type ScopedLog } from "@board/core/log";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { createSystemContext, meter, relayJobs } from "./runtime.ts";

const WakeUpMessage = z.object({ id: z.uuid() });

/**
 * Handles the messages of either queue. Only records that failed go back to the queue. The records share the pending
 * wake-ups of one context, so that a single relay at the end covers all of them; each has its own log.
 */
export async function consume(event: SQSEvent): Promise<SQSBatchResponse> {
  const ctx = createSystemContext();
  const results = await Promise.all(event.Records.map((record) => processRecord(ctx, record)));
  // Sends the next jobs of the lanes that advanced, and the next attempts of the jobs that failed.
  await relayJobs(ctx);
  await meter.flush();
  return { batchItemFailures: results.flatMap((failed) => (failed ? [{ itemIdentifier: failed }] : [])) };
}

/** Returns the message id when the record must come back to the queue, else null. */
async function processRecord(ctx: Context<System>, record: SQSRecord): Promise<string | null> {
  const { messageId: message_id, attributes } = record;
  const log = createScopedLog(ctx.log, { message_id, receives: Number(attributes.ApproximateReceiveCount) });
  const job_id = parseJobId(record.body, log);
  const handled = job_id !== null && (await deliverMessage({ ...ctx, log }, job_id)) === "handled";
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
