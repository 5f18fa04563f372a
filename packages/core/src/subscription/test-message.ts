import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { countRequest } from "../db/rate-limit.ts";
import { toBody } from "./message.ts";
import type { Owner } from "./owner.ts";
import { sendMessage } from "./send.ts";
import { getSubscriptionRow } from "./subscription.ts";
import { lazyObject } from "../values/wire.ts";

export const TestResult = lazyObject(() => ({
  ok: z.boolean().describe("Whether the receiver accepted the message."),
  status_code: z.int().nullable().describe("Status of the answer; null when none came."),
  duration_ms: z.int().describe("Milliseconds until the answer arrived or the attempt failed."),
  body: z.string().nullable().describe("The first 1,000 characters of the answer."),
  error: z.string().nullable().describe("Why the message was not accepted."),
})).meta({ id: "SubscriptionTestResult", description: "The result of a test message." });
export type TestResult = z.infer<typeof TestResult>;

const TEST = "subscription.test";

/** Sends a test message at once, even if the subscription is not active. It stores nothing and does not retry. */
export async function sendTestMessage(ctx: Context<User>, owner: Owner, subscription_id: string): Promise<TestResult> {
  const subscription = await getSubscriptionRow(ctx, owner, subscription_id);
  await countRequest(ctx, "subscription_tests_per_minute", "subscription_test", owner.organization_id);
  const content = { type: TEST, timestamp: ctx.now().toISOString(), data: { subscription_id } };
  const body = toBody(ctx.settings, subscription.format, content);
  const { status, duration_ms, response, error } = await sendMessage(ctx, subscription, { id: crypto.randomUUID(), body });
  return { ok: error === null, status_code: status, duration_ms, body: response, error };
}
