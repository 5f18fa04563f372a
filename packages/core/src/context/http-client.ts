/** Limits of a fetch, in milliseconds and bytes. */
export interface FetchLimits {
  /** The time limit for establishing the connection, including name resolution. */
  connect_ms: number;
  /** The time limit for everything, up to the last byte of the body. */
  total_ms: number;
  max_bytes: number;
}

export interface HttpResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * The content in chunks. Read it to the end or close it with `return()`. Reading throws a FetchError when a limit is exceeded.
   */
  body: AsyncGenerator<Uint8Array, void>;
}

type FetchProblem = "refused_address" | "unreachable" | "timeout" | "too_large";

/** Why a fetch failed. Clients may see the message: it names the host, but nothing about the network behind it. */
export class FetchError extends Error {
  readonly problem: FetchProblem;
  constructor(problem: FetchProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

interface PostRequest {
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
  /** The organization that chose the URL. The resolution of its host name counts toward the look-up limit of the organization. */
  organization_id: string;
}

/** Fetches URLs that users chose, so implementations must protect against server-side request forgery (SSRF). */
export interface HttpClient {
  /** Sends a GET over https, without credentials. Redirects are returned, not followed. Throws a FetchError. */
  get(url: string, limits: FetchLimits): Promise<HttpResponse>;
  /** Sends a POST to a receiver that `checkReceiver` would accept. Redirects are returned, not followed. Throws a FetchError. */
  post(url: string, request: PostRequest, limits: FetchLimits): Promise<HttpResponse>;
  /**
   * Throws a FetchError with `refused_address` unless the URL is https on port 443 of a public host, or leads to a host whose
   * private addresses are allowed. A name that does not resolve is accepted, because each `post` checks again.
   */
  checkReceiver(url: string, organization_id: string): Promise<void>;
}

/** Reads the whole body into memory. The fetch limit `max_bytes` applies. */
export async function readBody({ body }: HttpResponse): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

/** Returns the wait that the answer asks for in seconds with `retry-after`, converted to milliseconds. */
export function retryAfterMs({ headers }: HttpResponse): number | null {
  const value = headers["retry-after"];
  return typeof value === "string" && /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1000 : null;
}
