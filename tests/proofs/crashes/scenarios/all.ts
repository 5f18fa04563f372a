import { deletion } from "./deletion.ts";
import { post } from "./post.ts";
import { provisioning } from "./provisioning.ts";
import { sync, syncRun } from "./sync.ts";

export const scenarios = { post, provisioning, sync, syncRun, deletion };
