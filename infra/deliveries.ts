import { deliveries } from "../packages/functions/src/manifest.ts";
import { bodyReadPermissions } from "./bodies.ts";
import { subscribeConsumer } from "./queue-consumer.ts";
import { publishPermissions } from "./event-bus.ts";
import { deliveryQueue } from "./queue.ts";

export const deliveriesConsumer = subscribeConsumer(deliveryQueue, deliveries, [...publishPermissions, ...bodyReadPermissions]);
