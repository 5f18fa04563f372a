import path from "node:path";
import type { Context } from "@board/core/context/context";
import type { Settings } from "@board/core/config/settings";
import { silentLog } from "@board/core/values/log";
import { openContexts } from "./contexts.ts";
import { openDatabase } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";

/** Runs a command of the operator on the database in the settings. An embedded database must not be in use. */
export async function asOperator<T>(settings: Settings, work: (createContext: () => Context) => Promise<T>): Promise<T> {
  const unlock = settings.database.driver === "pglite" ? lockFolder(path.resolve(settings.data_dir)) : () => {};
  const cleanups: (() => unknown)[] = [unlock];
  try {
    const database = await openDatabase(settings, silentLog);
    cleanups.push(() => database.close());
    await database.migrate();
    const { createContext } = openContexts(settings, { db: database.db, log: silentLog, cleanups });
    return await work(() => createContext({ type: "public" } as const));
  } finally {
    for (const clean of cleanups.reverse()) await clean();
  }
}
