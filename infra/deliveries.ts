import { deliveries } from "../packages/functions/src/manifest.ts";
import { consume } from "./consumer.ts";
import { queue } from "./queue.ts";

consume(queue, "deliveries", deliveries);
