/** Time and size limits of a fetch. */
export interface FetchLimits {
  /** Until the connection is established, including name resolution. */
  connect_ms: number;
  /** From the start to the last byte of the body. */
  total_ms: number;
  max_bytes: number;
}

export interface HttpResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Must be read to its end or closed with `return()`. Throws a FetchError when a limit is exceeded. */
  body: AsyncGenerator<Uint8Array, void>;
}

export type FetchProblem = "refused_address" | "unreachable" | "timeout" | "too_large";

/** Why a fetch failed. The message may be shown to callers: it names the host and nothing about the network behind it. */
export class FetchError extends Error {
  readonly problem: FetchProblem;
  constructor(problem: FetchProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

export interface PostRequest {
  headers: Readonly<Record<string, string>>;
  body: string;
  /** The organization that chose the URL; its budget of look-ups counts this one. */
  organization_id: string;
}

/** Fetches URLs that users supplied, so implementations must protect against server-side request forgery (SSRF). */
export interface HttpClient {
  /** GET over https, without credentials. Redirects are returned, not followed. Throws a FetchError. */
  get(url: string, limits: FetchLimits): Promise<HttpResponse>;
  /** POST to a receiver, under the rules of `checkReceiver`. Redirects are returned, not followed. Throws a FetchError. */
  post(url: string, request: PostRequest, limits: FetchLimits): Promise<HttpResponse>;
  /**
   * Throws a FetchError with `refused_address` unless the URL is https to a public host at port 443, or its host is one whose
   * private addresses are allowed. A name that does not resolve is accepted, since each `post` checks again.
   */
  checkReceiver(url: string, organization_id: string): Promise<void>;
}

/** Reads the whole body into memory; `max_bytes` of the fetch limits its size. */
export async function readBody({ body }: HttpResponse): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
