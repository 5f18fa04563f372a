import { lookup } from "node:dns/promises";
import { LookupLimitError, type ResolveName } from "./address.ts";
import { BUDGETS } from "../config/budgets.ts";
import { createKeyedLimiter, createLimiter } from "../values/concurrency.ts";
import { rejectAfter } from "../values/timeout.ts";
import { createExpiringSet } from "./expiring-set.ts";
import { LOOKUP_TIMEOUT_MS, queryNameServers } from "./query.ts";
import { createHostsFile, createSearchList, SYSTEM_FILES, type SystemFiles } from "./system-files.ts";

type Addresses = Awaited<ReturnType<ResolveName>>;

export interface ResolverOptions {
  /** How many look-ups of one organization may be in progress; 0 means no limit. */
  organization_lookups?: number;
  /** Name servers as `address:port`. By default, the name servers of the machine are used. */
  servers?: readonly string[];
  files?: SystemFiles;
  /** Resolves a name through the operating system. Tests replace it. */
  askSystem?: (hostname: string) => Promise<Addresses>;
}

/** The longest wait for a look-up to start. After a longer wait, too little time would be left for the look-up itself. */
const TURN_TIMEOUT_MS = 2_000;
/** The maximum number of look-ups that are in progress in a process. Each has a socket. */
const MAX_LOOKUPS = 256;
/** How long a name is not looked up again if its name servers did not answer. */
const SILENT_MS = 10_000;
const MAX_SILENT_NAMES = 1_000;

/**
 * Allows one system look-up at a time. Node lets such look-ups use two of the four threads of a process, so one thread stays free
 * for look-ups of the service itself, for example of its database host.
 */
const systemThread = createLimiter(1);

/**
 * Creates a resolver that uses the hosts file, then name servers, then the operating system. Its limits keep slow name servers of
 * one organization from delaying others (docs/decisions/name-resolution.md). Rejects as `dns.lookup` does: with ENOTFOUND, or
 * EAI_AGAIN if a retry may succeed.
 */
export function createNameResolver(options: ResolverOptions = {}): ResolveName {
  const { askSystem = (hostname) => lookup(hostname, { all: true }), files = SYSTEM_FILES } = options;
  const findInHostsFile = createHostsFile(files.hosts);
  const listNames = createSearchList(files.resolv_conf);
  const organization_lookups = options.organization_lookups ?? BUDGETS.organization_lookups.default;
  const inOrganization = createKeyedLimiter(organization_lookups);
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

  /**
   * Lets callers that ask for the same name share one look-up. The look-up stays shared until it ends, even if all callers have
   * given up, because it may still occupy a thread.
   */
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
    const isLimited = organization_id !== undefined && organization_lookups > 0;
    const work = isLimited ? inOrganization(organization_id, () => inProcess(start)) : inProcess(start);
    return await rejectAfter(work, LOOKUP_TIMEOUT_MS, () =>
      isStarted ? lookupError(hostname, "EAI_AGAIN") : new LookupLimitError(),
    );
  };
}

function lookupError(hostname: string, code: "ENOTFOUND" | "EAI_AGAIN"): Error {
  const reason = code === "ENOTFOUND" ? "is not known" : "could not be looked up in time";
  return Object.assign(new Error(`The host name ${hostname} ${reason}`), { code });
}

/** Resolves names with the default limits, for tools that have no settings. */
export const resolveName = createNameResolver();
