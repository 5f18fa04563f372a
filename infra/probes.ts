import { probes } from "../packages/functions/src/manifest.ts";
import { subscribeConsumer } from "./queue-consumer.ts";
import { probeQueue } from "./queue.ts";

export const probesConsumer = subscribeConsumer(probeQueue, probes);
