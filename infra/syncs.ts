import { syncs } from "../packages/functions/src/manifest.ts";
import { consume } from "./consumer.ts";
import { syncQueue } from "./queue.ts";

export const syncer = consume(syncQueue, "syncs", syncs);
