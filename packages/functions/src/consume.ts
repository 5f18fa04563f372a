import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliver } from "@board/core/deliver";
import { errorText } from "@board/core/log";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import * as z from "zod";
import { relayJobs, systemContext } from "./runtime.ts";

const Body = z.object({ id: z.uuid() });

/** Works on the jobs whose wake-ups came, through whichever queue. Only what crashed goes back to it, each record by itself. */
export async function consume(event: SQSEvent): Promise<SQSBatchResponse> {
  const ctx = systemContext();
  const results = await Promise.all(event.Records.map((record) => work(ctx, record)));
  // The next jobs of the lanes that moved, and the next attempts of those that failed.
  await relayJobs(ctx);
  return { batchItemFailures: results.flatMap((failed) => (failed ? [{ itemIdentifier: failed }] : [])) };
}

/** The message id when the record must come back, else null. */
async function work(ctx: Context<System>, record: SQSRecord): Promise<string | null> {
  try {
    const { id } = Body.parse(JSON.parse(record.body));
    await deliver(ctx, id);
    return null;
  } catch (error) {
    ctx.log.error("jobs.crashed", errorText(error), {
      message_id: record.messageId,
      receives: record.attributes.ApproximateReceiveCount,
    });
    return record.messageId;
  }
}
