import { syncs } from "../packages/functions/src/manifest.ts";
import { consume } from "./consumer.ts";
import { syncQueue } from "./queue.ts";

consume(syncQueue, "syncs", syncs);
