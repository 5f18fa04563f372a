import { deliveries } from "../packages/functions/src/manifest.ts";
import { subscribeConsumer } from "./queue-consumer.ts";
import { publishPermissions } from "./event-bus.ts";
import { deliveryQueue } from "./queue.ts";

export const deliveriesConsumer = subscribeConsumer(deliveryQueue, "deliveries", deliveries, publishPermissions);
