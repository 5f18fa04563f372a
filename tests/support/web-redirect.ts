import type { HttpClient } from "@board/core/context/http-client";

/** Where a test's HTTP client connects instead of the requested hosts, so that another process can do the same. */
export interface WebRedirect {
  port: number;
  /** The certificate to trust, in PEM. */
  ca: string;
}

const redirects = new WeakMap<HttpClient, WebRedirect>();

/** Records where `web` connects. */
export function redirectWeb(web: HttpClient, servers: WebRedirect): HttpClient {
  redirects.set(web, servers);
  return web;
}

export const findWebRedirect = (web: HttpClient): WebRedirect | undefined => redirects.get(web);
