import type { Context } from "@board/core/context/context";
import { createNameResolver } from "@board/core/dns/resolver";
import { FetchError } from "@board/core/context/http-client";
import { createHttpClient, locateAllowedReceiver } from "@board/core/http/https-client";
import { listActiveReceivers, type Receiver } from "@board/core/subscription/receiver";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import { type Finding, ok, pluralize, warning } from "./finding.ts";

const CHECK = "subscriptions";
const MAX_CHECKED = 500;
const CONCURRENT_CHECKS = 8;

/** Checks that deliveries to the receivers of active subscriptions are allowed. It resolves names and connects to no receiver. */
export async function checkReceivers(ctx: Pick<Context, "db" | "settings">): Promise<Finding[]> {
  const receivers = await listActiveReceivers(ctx, MAX_CHECKED);
  if (receivers.length === 0) return [ok(CHECK, "none are active")];
  const { settings } = ctx;
  const resolve = createNameResolver(settings.budgets);
  const http = createHttpClient({ locateReceiver: locateAllowedReceiver(resolve, toReceiverRules(settings)) });
  const refused = new Set<string>();
  const check = async ({ url, organization_id }: Receiver) => {
    try {
      await http.checkReceiver(url, organization_id);
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      refused.add(new URL(url).host);
    }
  };
  for (let at = 0; at < receivers.length; at += CONCURRENT_CHECKS)
    await Promise.all(receivers.slice(at, at + CONCURRENT_CHECKS).map(check));
  if (refused.size === 0) return [ok(CHECK, `${pluralize(receivers.length, "receiver")} may be posted to`)];
  const remedy = "Add the host to SUBSCRIPTION_ALLOWED_HOSTS if every organization may post there and read its answers.";
  return [...refused]
    .toSorted()
    .map((host) => warning(CHECK, `${host} is not a public https host, so it gets no events`, remedy));
}
