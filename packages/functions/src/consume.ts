import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliver, JobCrashed } from "@board/core/deliver";
import { errorText, learn, withFields } from "@board/core/log";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { meter, relayJobs, systemContext } from "./runtime.ts";

const Body = z.object({ id: z.uuid() });

/** Works on the jobs whose wake-ups came, through whichever queue. Only what crashed goes back to it, each record by itself. */
export async function consume(event: SQSEvent): Promise<SQSBatchResponse> {
  const ctx = systemContext();
  const results = await Promise.all(event.Records.map((record) => work(ctx, record)));
  // The next jobs of the lanes that moved, and the next attempts of those that failed.
  await relayJobs(ctx);
  await meter.flush();
  return { batchItemFailures: results.flatMap((failed) => (failed ? [{ itemIdentifier: failed }] : [])) };
}

/** The message id when the record must come back, else null. */
async function work(ctx: Context<System>, record: SQSRecord): Promise<string | null> {
  const { messageId: message_id, attributes } = record;
  const log = withFields(ctx.log, { message_id, receives: Number(attributes.ApproximateReceiveCount) });
  try {
    const { id } = Body.parse(JSON.parse(record.body));
    learn(log, { job_id: id });
    await deliver({ ...ctx, log }, id);
    return null;
  } catch (error) {
    // A job that crashed has said so itself; what is left is a message that is none of ours, or a database that is away.
    if (!(error instanceof JobCrashed)) log.error("jobs.not_taken", errorText(error));
    return message_id;
  }
}
