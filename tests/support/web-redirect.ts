import type { HttpClient } from "@board/core/context/http-client";

/** The address to which a test's HTTP client is redirected, recorded so that another process can be redirected too. */
interface WebRedirect {
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
