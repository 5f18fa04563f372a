import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { type Address, normalizeHost } from "./address.ts";

/** Paths of the files that configure name resolution. A missing file counts as empty. */
export interface SystemFiles {
  hosts: string;
  resolv_conf: string;
}

export const SYSTEM_FILES: SystemFiles = {
  hosts: process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts",
  resolv_conf: "/etc/resolv.conf",
};

/** Returns a function that finds the addresses of a name in a hosts file. */
export function createHostsFile(path: string): (hostname: string) => readonly Address[] {
  const read = createFileReader(path, parseHosts);
  return (hostname) => read().get(hostname) ?? [];
}

/**
 * Returns a function that lists the names to look up, in order. A name with few dots is first tried in the operator's search
 * domains: in a cluster, `gateway.dev` means the service of the cluster and not a public domain.
 */
export function createSearchList(path: string): (hostname: string) => string[] {
  const read = createFileReader(path, parseSearch);
  return (hostname) => {
    const { domains, ndots } = read();
    const completed = domains.map((domain) => `${hostname}.${domain}`);
    return hostname.split(".").length - 1 < ndots ? [...completed, hostname] : [hostname, ...completed];
  };
}

/**
 * Reads a file again whenever it has changed. It reads synchronously, because an asynchronous read might have to wait for a
 * thread that a look-up by the operating system occupies.
 */
function createFileReader<T>(path: string, parse: (text: string) => T): () => T {
  let version = "";
  let parsed = parse("");
  return () => {
    try {
      const { mtimeMs, size } = statSync(path);
      if (version !== `${mtimeMs} ${size}`) {
        parsed = parse(readFileSync(path, "utf8"));
        version = `${mtimeMs} ${size}`;
      }
    } catch {
      parsed = parse("");
      version = "";
    }
    return parsed;
  };
}

const toWords = (line: string): string[] => line.trim().split(/\s+/);

/** Parses a hosts file. Each line contains an address and its names. Text after `#` is a comment. */
function parseHosts(text: string): ReadonlyMap<string, readonly Address[]> {
  const found = new Map<string, Address[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...hostnames] = toWords(line.split("#", 1)[0] ?? "");
    const family = isIP(address);
    if (family === 0) continue;
    for (const hostname of hostnames.map(normalizeHost)) {
      const addresses = found.get(hostname) ?? [];
      addresses.push({ address, family: family === 6 ? 6 : 4 });
      found.set(hostname, addresses);
    }
  }
  return found;
}

/** Parses resolv.conf(5). Its last `search` or `domain` line counts. */
function parseSearch(text: string): { domains: string[]; ndots: number } {
  let domains: string[] = [];
  let ndots = 1;
  for (const [keyword, ...values] of text.split("\n").map(toWords)) {
    if (keyword === "search" || keyword === "domain") domains = values.map(normalizeHost).filter((domain) => domain !== "");
    const option = keyword === "options" ? values.find((value) => /^ndots:\d{1,2}$/.test(value)) : undefined;
    if (option !== undefined) ndots = Number(option.slice("ndots:".length));
  }
  return { domains, ndots };
}
