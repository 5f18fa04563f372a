import { outbound } from "../packages/functions/src/manifest.ts";
import { subscribeConsumer } from "./queue-consumer.ts";
import { outboundQueue } from "./queue.ts";

export const outboundConsumer = subscribeConsumer(outboundQueue, outbound);
