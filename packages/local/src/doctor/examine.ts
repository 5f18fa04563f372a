import { parseDatabaseSettings, SettingsError, type DatabaseSettings } from "@board/core/settings";
import { createWeb } from "@board/core/web/https";
import type { Web } from "@board/core/web/web";
import { checkDatabase, openToLook } from "./database.ts";
import type { Finding } from "./finding.ts";
import { checkGateways } from "./gateways.ts";
import { checkIssuer, checkQueues, checkSouls } from "./outside.ts";
import { checkSettings, type Edge } from "./settings.ts";

/**
 * Looks at all that a service with this environment works with, and changes nothing. What cannot be looked at, because
 * something before it is wrong, is left out.
 */
export async function examine(environment: NodeJS.ProcessEnv, options: { edge?: Edge; web?: Web } = {}): Promise<Finding[]> {
  // Only a stage on AWS has queues.
  const { edge = environment["DELIVERIES_QUEUE_URL"]?.trim() ? "lambda" : "local", web = createWeb() } = options;
  const { findings, settings } = checkSettings(environment, edge);
  const place = settings ?? readPlace(environment);
  const outside = Promise.all([
    checkQueues(environment),
    ...(settings ? [checkIssuer(settings), checkSouls(settings, web)] : []),
  ]);
  const opened = place && (await openToLook(place));
  if (opened && "state" in opened) findings.push(opened);
  else if (opened)
    try {
      const look = await checkDatabase(opened.database, place!, edge);
      findings.push(...look.findings);
      if (settings && look.readable) findings.push(...(await checkGateways({ db: opened.database.db, settings })));
    } finally {
      await opened.close();
    }
  return [...findings, ...(await outside).flat()];
}

/** Where the data is may be known although something else is wrong. */
function readPlace(environment: NodeJS.ProcessEnv): DatabaseSettings | null {
  try {
    return parseDatabaseSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return null;
    throw error;
  }
}
