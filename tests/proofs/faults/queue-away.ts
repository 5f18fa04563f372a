/** The functions of a deployment on this machine, while their queue cannot be reached. */
import { setTimeout as pause } from "node:timers/promises";
import { startFakeGateway } from "../../support/fake-gateway/server.ts";
import { startAwsDeployment } from "../../aws/deployment.ts";
import { scheduleEvent } from "../../support/aws-events.ts";
import { createWebhook } from "../../support/webhook.ts";
import { HOST_TOKEN } from "../load/hosts.ts";

const POSTS = 20;
const MAX_WAIT_MS = 30_000;

export interface QueueAway {
  work: number;
  accepted: number;
  delivered: number;
  answers: string;
}

/** Posts before, during and after an outage of the queue, and returns what was accepted and what arrived. */
export async function runWithoutQueue(): Promise<QueueAway> {
  const cloud = await startAwsDeployment();
  const host = await startFakeGateway({ token: HOST_TOKEN });
  const mapping = cloud.mapDeliveries();
  try {
    const home = await cloud.world.tenant("home", host.url);
    const webhook = await createWebhook(cloud.world, home);
    const statuses: number[] = [];
    const post = async () => {
      const answer = await cloud.request("ingest", "POST", webhook.endpoint_path, { body: "{}" });
      statuses.push(answer.status);
    };
    for (let n = 0; n < POSTS; n++) {
      if (n === 5) await cloud.sqs.stop();
      if (n === 15) await cloud.sqs.start();
      await post();
    }
    // The schedule sends what the requests could not.
    await (await cloud.lambda("schedule")).invoke(scheduleEvent("relay"));
    const accepted = statuses.filter((status) => status === 202).length;
    const deadline = Date.now() + MAX_WAIT_MS;
    while (host.messages.length < accepted && Date.now() < deadline) await pause(100);
    return { work: POSTS, accepted, delivered: host.messages.length, answers: `202 x ${accepted} of ${POSTS}` };
  } finally {
    await mapping.stop();
    await host.close();
    await cloud.close();
  }
}
