import { jobs } from "@board/core/schema/all-tables";
import { listJobs } from "@board/core/job/job";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { DEAD_LETTERS, QUEUE, startAwsDeployment } from "./deployment.ts";
import { setup } from "../support/fixtures.ts";
import { scheduleEvent } from "../support/aws-events.ts";

// The visibility timeout is shortened, so that the five receives are a second apart instead of twelve minutes.
const cloud = await setup(startAwsDeployment({ visibility_seconds: 1 }));

test("a job that crashes at every receive ends in the dead-letter queue and is dead in the table", async () => {
  const home = await cloud.world.tenant("home");
  const [job] = await cloud.world.db
    .insert(jobs)
    .values({
      kind: "nobody.knows",
      payload: {},
      organization_id: home.organization_id,
      run_at: cloud.world.now(),
      max_attempts: 9,
    })
    .returning();
  await cloud.sqs.send(QUEUE, "not a job");
  const source = cloud.mapDeliveries();
  await (await cloud.lambda("schedule")).invoke(scheduleEvent("relay"));
  await vi.waitFor(async () => expect((await cloud.sqs.depth(DEAD_LETTERS)).ready).toBe(2), { timeout: 40_000, interval: 200 });
  await source.stop();
  const bodies = (await cloud.sqs.take(DEAD_LETTERS)).map((message) => message.Body);
  expect(new Set(bodies)).toEqual(new Set(["not a job", JSON.stringify({ id: job!.id })]));
  expect(await listJobs(cloud.world.context(), "dead")).toMatchObject([
    { id: job!.id, attempts: 5, last_error: "No handler for jobs of kind nobody.knows" },
  ]);
  expect((await cloud.world.db.select().from(jobs).where(eq(jobs.status, "queued"))).length).toBe(0);
});
