import type { Web } from "@board/core/web/web";

/** Where the servers are that a test's `Web` leads to: what another process needs to be led there too. */
export interface OtherServers {
  port: number;
  /** The certificate to trust, PEM. */
  ca: string;
}

const behind = new WeakMap<Web, OtherServers>();

/** Says where `web` leads. */
export function leadsTo(web: Web, servers: OtherServers): Web {
  behind.set(web, servers);
  return web;
}

export const serversBehind = (web: Web): OtherServers | undefined => behind.get(web);
