import openapiFetch from "openapi-fetch";
import type { paths } from "./api.ts";
import { ApiError } from "./error.ts";
import { follow, type StreamEvent } from "./events.ts";
import type { Data, Input, Output, Path, StreamPath, Verb } from "./operation.ts";

/** Where the service is, and who calls it: a person with an access token, or an agent with its own. */
export interface ClientOptions {
  url: string;
  token?: string;
  agent_token?: string;
  /** Where streams are served when that is elsewhere, as on AWS: the `servers` of a stream in `/openapi.json`. */
  stream_url?: string;
  /** Ends every request and every stream when it is aborted. */
  signal?: AbortSignal;
  /** Sends a request; the platform's own when absent. */
  fetch?: (request: Request) => Promise<Response>;
}

type Calls = {
  /** Resolves to what the service answers; throws an `ApiError` when it refuses. */
  [V in Verb]: <P extends Path<V>>(path: P, ...input: Input<paths[P][V]>) => Promise<Output<paths[P][V]>>;
};

export interface Client extends Calls {
  /**
   * Events as they happen, to read with `for await`. A connection that ends or breaks is opened again after the last
   * event that came. It ends by `break`, by a signal, or by an `ApiError` when the service refuses.
   */
  stream<P extends StreamPath>(path: P, ...input: Input<paths[P]["get"]>): AsyncGenerator<StreamEvent<Data<paths[P]["get"]>>>;
}

/** A client of the service: its verbs, paths, inputs and answers are those of the OpenAPI document. */
export function createClient({ url, token, agent_token, stream_url = url, signal, fetch }: ClientOptions): Client {
  const http = openapiFetch<paths>({
    // An address that is none is told at once.
    baseUrl: new URL(url).href,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(agent_token ? { "X-Agent-Token": agent_token } : {}),
    },
    ...(signal ? { signal } : {}),
    ...(fetch ? { fetch } : {}),
  });
  // The types of `Client` have checked what is sent and say what comes back; in here every operation is the same.
  const send = async (verb: Verb, path: string, input: AnyInput = {}): Promise<unknown> => {
    const { data, error, response } = await (http.request as unknown as Send)(verb, path, input);
    if (!response.ok) throw new ApiError(response, error);
    return data;
  };
  const call = (verb: Verb) => (path: string, input?: AnyInput) => send(verb, path, input);
  const stream = (path: string, { params, ...input }: AnyInput = {}) => {
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

interface AnyInput {
  params?: { header?: { "Last-Event-ID"?: string } };
  signal?: AbortSignal;
  baseUrl?: string;
  parseAs?: "stream";
}

type Send = (verb: Verb, path: string, input: AnyInput) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
