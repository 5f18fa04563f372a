import openapiFetch from "openapi-fetch";
import type { paths } from "./api.ts";
import { ApiError } from "./error.ts";
import { follow, type StreamEvent } from "./events.ts";
import type { EventData, Input, Output, PathOf, StreamPath, HttpMethod } from "./operation.ts";

/** Address and credential: `token` for a person, `agent_token` for an agent. */
export interface ClientOptions {
  url: string;
  token?: string;
  agent_token?: string;
  /** Address of streams if it differs from `url`, as on AWS. It is in `servers` of each stream in `/openapi.json`. */
  stream_url?: string;
  /** Aborts all requests and streams. */
  signal?: AbortSignal;
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

type ClientMethods = {
  /** Resolves with the body of the response. Throws an `ApiError` for an error status. */
  [V in HttpMethod]: <P extends PathOf<V>>(path: P, ...input: Input<paths[P][V]>) => Promise<Output<paths[P][V]>>;
};

export interface Client extends ClientMethods {
  /**
   * Yields events as they happen, for `for await`. Reconnects when a connection ends or breaks, and resumes after the last
   * event. Ends with `break`, when the signal is aborted, or with an `ApiError` that is not transient.
   */
  stream<P extends StreamPath>(
    path: P,
    ...input: Input<paths[P]["get"]>
  ): AsyncGenerator<StreamEvent<EventData<paths[P]["get"]>>>;
}

/** Creates a client of the service, typed by its OpenAPI document. */
export function createClient({ url, token, agent_token, stream_url = url, signal, fetch }: ClientOptions): Client {
  const http = openapiFetch<paths>({
    // Throws at once if the URL is not valid.
    baseUrl: new URL(url).href,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(agent_token ? { "X-Agent-Token": agent_token } : {}),
    },
    ...(signal ? { signal } : {}),
    ...(fetch ? { fetch } : {}),
  });
  // `Client` types inputs and outputs, so the implementation treats all operations alike.
  const send = async (verb: HttpMethod, path: string, input: UntypedInput = {}): Promise<unknown> => {
    const { data, error, response } = await (http.request as unknown as UntypedRequest)(verb, path, input);
    if (!response.ok) throw new ApiError(response, error);
    return data;
  };
  const call = (verb: HttpMethod) => (path: string, input?: UntypedInput) => send(verb, path, input);
  const stream = (path: string, { params, ...input }: UntypedInput = {}) => {
    const open = (id: string | undefined) => {
      const header = id === undefined ? {} : { "Last-Event-ID": id };
      const opened = send("get", path, { ...input, params: { ...params, header }, baseUrl: stream_url, parseAs: "stream" });
      return opened as Promise<ReadableStream<Uint8Array>>;
    };
    return follow(open, params?.header?.["Last-Event-ID"], input.signal ?? signal);
  };
  const client = { get: call("get"), post: call("post"), put: call("put"), patch: call("patch"), delete: call("delete"), stream };
  return client as unknown as Client;
}

interface UntypedInput {
  params?: { header?: { "Last-Event-ID"?: string } };
  signal?: AbortSignal;
  baseUrl?: string;
  parseAs?: "stream";
}

type UntypedRequest = (
  verb: HttpMethod,
  path: string,
  input: UntypedInput,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
