import { readChannelHealth } from "@board/core/channel/health";
import type { Context } from "@board/core/context/context";
import { findVapidKey } from "@board/core/push/vapid";
import { errorText } from "@board/core/values/log";
import { type Finding, ok, pluralize, warning, wrong } from "./finding.ts";

const CHECK = "push";

/** Checks that the key for web push can be read, and reports browsers that get no messages. It creates no key and sends nothing. */
export async function checkPush(ctx: Pick<Context, "db" | "settings">): Promise<Finding> {
  const { total, failing, frequent_error } = await readChannelHealth(ctx, "push");
  const browsers = pluralize(total, "browser");
  try {
    if ((await findVapidKey(ctx)) === null) return reportNoKey(total);
  } catch (error) {
    const remedy =
      'Set ENCRYPTION_KEY to the key that this database was written with, or follow docs/operating.md, "ENCRYPTION_KEY".';
    return wrong(CHECK, `the key cannot be read, so no browser is notified (${browsers}): ${errorText(error)}`, remedy);
  }
  if (failing > 0) {
    const found = `${failing} of ${browsers} ${failing === 1 ? "gets" : "get"} no messages: ${frequent_error}`;
    return warning(CHECK, found, 'docs/notifications.md, "Browsers and phones", has the remedy for each error.');
  }
  return ok(CHECK, `the key can be read; ${browsers} subscribed`);
}

/**
 * If the key is missing, the service creates a new key. Push services refuse the new key for browsers that subscribed with the
 * old key.
 */
const reportNoKey = (browsers: number): Finding =>
  browsers === 0
    ? ok(CHECK, "the key is created when the first browser subscribes")
    : wrong(
        CHECK,
        `the key with which ${pluralize(browsers, "browser")} subscribed is missing`,
        "Restore the table service_keys from a backup, or let people remove their browsers and add them again.",
      );
