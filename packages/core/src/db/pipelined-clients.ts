import type { Db } from "../context.ts";

/** Kept apart from pipeline.ts, so that the functions, which use Neon's driver, do not load node-postgres with it. */
const pipelinedClients = new WeakSet<object>();

export const markPipelined = (client: object): void => void pipelinedClients.add(client);

/** Whether statements that are started at the same time in this transaction are sent together. */
export const isPipelined = (db: Db): boolean => {
  const { client } = db._.session as unknown as { client?: object };
  return client !== undefined && pipelinedClients.has(client);
};
