import { syncs } from "../packages/functions/src/manifest.ts";
import { subscribeConsumer } from "./queue-consumer.ts";
import { syncQueue } from "./queue.ts";

export const syncsConsumer = subscribeConsumer(syncQueue, syncs);
