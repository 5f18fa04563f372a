import { createContextFactory } from "@board/core/context/context-factory";
import { parseSettings } from "@board/core/config/settings";
import { silentLog } from "@board/core/values/log";
import { openDatabase } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import { withGeneratedSecrets } from "./secrets.ts";
import path from "node:path";

/** Makes a link by which the owner signs in once, after every other way in was lost. */
export async function createOwnerLink(environment: NodeJS.ProcessEnv): Promise<string> {
  const settings = parseSettings(withGeneratedSecrets(environment), "local");
  const unlock = settings.database.driver === "pglite" ? lockFolder(path.resolve(settings.data_dir)) : () => {};
  const database = await openDatabase(settings, silentLog);
  try {
    await database.migrate();
    const { openAccounts } = await import("@board/accounts/accounts");
    const unused = null as never;
    const createContext = createContextFactory({
      db: database.db,
      settings,
      now: () => new Date(),
      log: silentLog,
      mail: null,
      gateways: unused,
      http: unused,
      bus: unused,
      bodies: null,
      files: null,
      meter: unused,
      tracer: undefined,
    });
    const accounts = openAccounts(settings, () => createContext({ type: "public" } as const));
    return `${settings.service_url}/#link=${await accounts.createOwnerLink()}`;
  } finally {
    await database.close();
    unlock();
  }
}
