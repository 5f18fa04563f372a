import path from "node:path";
import { parseSettings } from "@board/core/config/settings";
import { silentLog } from "@board/core/values/log";
import { openContexts } from "./contexts.ts";
import { openDatabase } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import { withGeneratedSecrets } from "./secrets.ts";

/** Makes a link by which the owner signs in once, after every other way in was lost. */
export async function createOwnerLink(environment: NodeJS.ProcessEnv): Promise<string> {
  const settings = parseSettings(withGeneratedSecrets(environment), "local");
  const unlock = settings.database.driver === "pglite" ? lockFolder(path.resolve(settings.data_dir)) : () => {};
  const cleanups: (() => unknown)[] = [unlock];
  try {
    const database = await openDatabase(settings, silentLog);
    cleanups.push(() => database.close());
    await database.migrate();
    const { openAccounts } = await import("@board/accounts/accounts");
    const { createContext } = openContexts(settings, { db: database.db, log: silentLog, cleanups });
    const accounts = openAccounts(settings, () => createContext({ type: "public" } as const));
    return `${settings.service_url}/#link=${await accounts.createOwnerLink()}`;
  } finally {
    for (const clean of cleanups.reverse()) await clean();
  }
}
