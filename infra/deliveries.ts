import { deliveries } from "../packages/functions/src/manifest.ts";
import { consume } from "./consumer.ts";
import { mayPublish } from "./events.ts";
import { queue } from "./queue.ts";

export const deliverer = consume(queue, "deliveries", deliveries, mayPublish);
