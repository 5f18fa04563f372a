import { hostname } from "node:os";
import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { announcePresence, PRESENCE_MS, withdrawPresence } from "@board/core/process/presence";
import { errorText } from "@board/core/values/log";

const MAX_NAME = 200;

/** Announces this process to other processes that use the database. Returns a function that ends the announcement. */
export async function startPresence(createContext: () => Context<System>, id: string): Promise<() => Promise<void>> {
  const self = { id, name: `${hostname()}:${process.pid}`.slice(-MAX_NAME) };
  const warn = (error: unknown) => createContext().log.warn("process.presence_not_stored", errorText(error));
  await announcePresence(createContext(), self);
  let announcing: Promise<void> | undefined;
  const timer = setInterval(() => void (announcing = announcePresence(createContext(), self).catch(warn)), PRESENCE_MS).unref();
  return async () => {
    clearInterval(timer);
    await announcing;
    await withdrawPresence(createContext(), id).catch(warn);
  };
}
