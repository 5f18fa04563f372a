import { lookup } from "node:dns/promises";
import { LookupLimitError, type ResolveName } from "./address.ts";
import { BUDGETS } from "../config/budgets.ts";
import { createLimiter } from "../values/concurrency.ts";
import { rejectAfter } from "../values/timeout.ts";
import { createExpiringSet, createOrganizationLimiter } from "./limits.ts";
import { LOOKUP_TIMEOUT_MS, queryNameServers } from "./query.ts";
import { createHostsFile, createSearchList, SYSTEM_FILES, type SystemFiles } from "./system-files.ts";

type Addresses = Awaited<ReturnType<ResolveName>>;

export interface ResolverOptions {
  /** Look-ups that one organization may have in progress; 0 = no limit. */
  organization_lookups?: number;
  /** Name servers as `address:port`; by default those of the machine. */
  servers?: readonly string[];
  files?: SystemFiles;
  /** The look-up of the operating system. */
  askSystem?: (hostname: string) => Promise<Addresses>;
}

/** A caller that waits longer for a turn is refused, because too little time would be left for the look-up itself. */
const TURN_TIMEOUT_MS = 2_000;
/** Look-ups in progress in one process; each has a socket. */
const MAX_LOOKUPS = 256;
/** For this time, a name is not looked up again after its name servers were silent. */
const SILENT_MS = 10_000;
const MAX_SILENT_NAMES = 1_000;

/**
 * Of the four threads of a process, Node lets look-ups of the operating system take two. One of them is left to those that
 * the service makes for itself, such as of its database.
 */
const systemThread = createLimiter(1);

/**
 * Resolves names within limits, so that slow name servers of one organization delay nobody else
 * (docs/decisions/name-resolution.md): by the hosts file, else by name servers, and by the operating system only what these
 * do not know. Rejects with ENOTFOUND, or with EAI_AGAIN when a later attempt may succeed, as `dns.lookup` does.
 */
export function createNameResolver(options: ResolverOptions = {}): ResolveName {
  const { askSystem = (hostname) => lookup(hostname, { all: true }), files = SYSTEM_FILES } = options;
  const findInHostsFile = createHostsFile(files.hosts);
  const listNames = createSearchList(files.resolv_conf);
  const inOrganization = createOrganizationLimiter(options.organization_lookups ?? BUDGETS.organization_lookups.default);
  const inProcess = createLimiter(MAX_LOOKUPS);
  const inProgress = new Map<string, Promise<Addresses>>();
  const silentNames = createExpiringSet(SILENT_MS, MAX_SILENT_NAMES);

  async function lookUp(hostname: string, asks_system: boolean): Promise<Addresses> {
    if (hostname !== "localhost") {
      const answer = await queryNameServers(listNames(hostname), options.servers);
      if (answer.kind === "found") return answer.addresses;
      if (answer.kind === "silent") silentNames.add(hostname);
      if (answer.kind === "silent") throw lookupError(hostname, "EAI_AGAIN");
      if (!asks_system) throw lookupError(hostname, answer.code);
    }
    return await systemThread(() => askSystem(hostname));
  }

  /** Callers with the same name share one look-up, even when nobody waits for it any more: it may still have a thread. */
  function share(hostname: string, asks_system: boolean): Promise<Addresses> {
    const key = `${hostname} ${asks_system}`;
    const shared = inProgress.get(key) ?? lookUp(hostname, asks_system).finally(() => inProgress.delete(key));
    inProgress.set(key, shared);
    return shared;
  }

  return async (hostname, { organization_id, asks_system = false } = {}) => {
    const listed = findInHostsFile(hostname);
    if (listed.length > 0) return listed;
    if (silentNames.has(hostname)) throw lookupError(hostname, "EAI_AGAIN");
    const deadline = performance.now() + TURN_TIMEOUT_MS;
    let isStarted = false;
    const start = async (): Promise<Addresses> => {
      if (performance.now() >= deadline) throw new LookupLimitError();
      isStarted = true;
      return await share(hostname, asks_system);
    };
    const work = inOrganization(organization_id, () => inProcess(start));
    return await rejectAfter(work, LOOKUP_TIMEOUT_MS, () =>
      isStarted ? lookupError(hostname, "EAI_AGAIN") : new LookupLimitError(),
    );
  };
}

function lookupError(hostname: string, code: "ENOTFOUND" | "EAI_AGAIN"): Error {
  const reason = code === "ENOTFOUND" ? "is not known" : "could not be looked up in time";
  return Object.assign(new Error(`The host name ${hostname} ${reason}`), { code });
}

/** For tools that have no settings. */
export const resolveName = createNameResolver();
