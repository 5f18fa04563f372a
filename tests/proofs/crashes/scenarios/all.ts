import { deletion } from "./deletion.ts";
import { inbox } from "./inbox.ts";
import { claim, expiry } from "./lease.ts";
import { post, repeatedPost } from "./post.ts";
import { provisioning } from "./provisioning.ts";
import { redelivery } from "./redelivery.ts";
import { subscription } from "./subscription.ts";
import { sync, syncRun } from "./sync.ts";

export const scenarios = {
  post,
  repeatedPost,
  redelivery,
  provisioning,
  sync,
  syncRun,
  deletion,
  claim,
  expiry,
  inbox,
  subscription,
};
