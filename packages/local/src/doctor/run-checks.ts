import { parseDatabaseSettings, SettingsError, type DatabaseSettings } from "@board/core/config/settings";
import { createHttpClient } from "@board/core/http/https-client";
import type { HttpClient } from "@board/core/context/http-client";
import { checkDatabase, openForInspection } from "./database.ts";
import type { Finding } from "./finding.ts";
import { checkGateways } from "./gateways.ts";
import { checkMail } from "./mail.ts";
import { checkProcesses } from "./processes.ts";
import { checkPush } from "./push.ts";
import { checkReceivers } from "./receivers.ts";
import { checkRetentions } from "./retentions.ts";
import { checkIssuer, checkQueues, checkSouls } from "./external-services.ts";
import { checkBodyStorage } from "./storage.ts";
import { checkSettings, type Platform } from "./settings.ts";

/**
 * Checks everything that a service with this environment depends on, without changing anything. It skips checks whose
 * prerequisites failed.
 */
export async function runChecks(
  environment: NodeJS.ProcessEnv,
  options: { edge?: Platform; web?: HttpClient } = {},
): Promise<Finding[]> {
  // Only a stage on AWS has queues, so QUEUE_URLS shows the platform.
  const { edge = environment["QUEUE_URLS"]?.trim() ? "lambda" : "local", web = createHttpClient() } = options;
  const { findings, settings } = checkSettings(environment, edge);
  const databaseSettings = settings ?? findDatabaseSettings(environment);
  const external = Promise.all([
    checkQueues(environment),
    ...(settings ? [checkIssuer(settings), checkSouls(settings, web), checkBodyStorage(settings), checkMail(settings)] : []),
  ]);
  const opened = databaseSettings && (await openForInspection(databaseSettings));
  if (opened && "state" in opened) findings.push(opened);
  else if (opened)
    try {
      const report = await checkDatabase(opened.database, databaseSettings!, edge);
      findings.push(...report.findings);
      if (settings && report.readable) {
        const ctx = { db: opened.database.db, settings };
        findings.push(
          ...(await checkRetentions(ctx)),
          ...(await checkGateways(ctx)),
          ...(await checkReceivers(ctx)),
          await checkPush(ctx),
          ...(await checkProcesses(ctx)),
        );
      }
    } finally {
      await opened.close();
    }
  return [...findings, ...(await external).flat()];
}

/** Returns the settings of the database. They may be valid even if other settings are not. */
function findDatabaseSettings(environment: NodeJS.ProcessEnv): DatabaseSettings | null {
  try {
    return parseDatabaseSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return null;
    throw error;
  }
}
