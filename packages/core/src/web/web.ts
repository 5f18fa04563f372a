/** What a fetch may cost. */
export interface Limits {
  /** Until the connection stands, name resolution included. */
  connect_ms: number;
  /** From the start to the last byte. */
  total_ms: number;
  max_bytes: number;
}

export interface WebAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** To be read, or left by `return()`. Throws a WebError when a limit is reached on the way. */
  body: AsyncGenerator<Uint8Array, void>;
}

export type WebProblem = "refused_address" | "unreachable" | "timeout" | "too_large";

/** Why nothing could be fetched. The message is fit for a caller: it names the host, and nothing of what lies behind. */
export class WebError extends Error {
  readonly problem: WebProblem;
  constructor(problem: WebProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** The port to other people's web servers. What is fetched was named by somebody, so every fetch is on guard. */
export interface Web {
  /** GET over https, without credentials. Redirects are answers like others. Throws a WebError. */
  get(url: string, limits: Limits): Promise<WebAnswer>;
}

/** The whole body; `max_bytes` of the limits is what it may take. */
export async function readBody({ body }: WebAnswer): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
