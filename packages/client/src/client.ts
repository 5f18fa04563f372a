import openapiFetch from "openapi-fetch";
import type { paths } from "./api.ts";
import { type Change, type ChangesOptions, readChanges } from "./changes.ts";
import { ApiError, ConnectionError } from "./error.ts";
import { follow, type StreamEvent } from "./events.ts";
import type { EventData, Input, Item, ListPath, Output, PathOf, StreamPath, HttpMethod } from "./operation.ts";
import { type Page, readPages } from "./pages.ts";
import { IDEMPOTENCY_KEY, randomId, withRetries } from "./retry.ts";

/** Address and credential: `token` for a person, `agent_token` for an agent. */
export interface ClientOptions {
  url: string;
  token?: string;
  agent_token?: string;
  /**
   * Address of streams if it differs from `url`, as on AWS. `/openapi.json` contains it in the `servers` of each stream operation.
   */
  stream_url?: string;
  /** Number of retries after a network error, 429, 502, 503 or 504, if a retry is safe. The default is 3. */
  retries?: number;
  /** Aborts all requests and streams. */
  signal?: AbortSignal;
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The body of a response with its status and headers, such as `ETag`. */
export interface Answer<Data> {
  data: Data;
  status: number;
  headers: Headers;
}

type ClientMethods = {
  /** Resolves with the body of the response. Throws an `ApiError` for an error status. */
  [V in HttpMethod]: <P extends PathOf<V>>(path: P, ...input: Input<paths[P][V]>) => Promise<Output<paths[P][V]>>;
};

export interface Client extends ClientMethods {
  /** Does the same as the method with the verb's name, but resolves with status and headers too. */
  send<V extends HttpMethod, P extends PathOf<V>>(
    verb: V,
    path: P,
    ...input: Input<paths[P][V]>
  ): Promise<Answer<Output<paths[P][V]>>>;
  /** Yields the items of all pages of a list, for use with `for await`. A page is read when its first item is needed. */
  list<P extends ListPath>(path: P, ...input: Input<paths[P]["get"]>): AsyncGenerator<Item<P>>;
  /**
   * Yields events as they happen, for `for await`. Reconnects when a connection ends or breaks, and resumes after the last
   * event. Ends with `break`, when the signal is aborted, or with an `ApiError` that is not transient.
   */
  stream<P extends StreamPath>(
    path: P,
    ...input: Input<paths[P]["get"]>
  ): AsyncGenerator<StreamEvent<EventData<paths[P]["get"]>>>;
  /** Yields every change that the caller may see, in the order in which they were committed. */
  changes(options?: ChangesOptions): AsyncGenerator<Change>;
}

/**
 * The path to which senders of webhooks post. It gets no Idempotency-Key, because the service ignores the key for some sources of
 * webhooks.
 */
const INGESTION_PATH: keyof paths = "/api/v1/boards/{board_id}/webhooks/{webhook_id}";
const LISTS_WITH_OWN_CURSORS = /\/(jobs|deliveries)$/;
const CHANGES_PATH = "/api/v1/changes";

/** Creates a client of the service, typed by its OpenAPI document. */
export function createClient(options: ClientOptions): Client {
  const { url, token, agent_token, stream_url = url, retries = 3, signal } = options;
  const transport = options.fetch ?? ((request: Request) => fetch(request));
  const http = openapiFetch<paths>({
    // Throws at once if the URL is not valid.
    baseUrl: new URL(url).href,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(agent_token ? { "X-Agent-Token": agent_token } : {}),
    },
    ...(signal ? { signal } : {}),
  });

  /** Sends a request once. */
  async function attempt(verb: HttpMethod, path: string, input: UntypedInput): Promise<Answer<unknown>> {
    let sent = false;
    const tracked = (request: Request) => {
      sent = true;
      return transport(request);
    };
    const request = http.request as unknown as UntypedRequest;
    const { data, error, response } = await request(verb, path, { ...input, fetch: tracked }).catch((cause: unknown) => {
      (input.signal ?? signal)?.throwIfAborted();
      // Fetch throws a TypeError when the network fails, even while the body arrives. A TypeError before sending comes from wrong
      // input.
      throw sent && cause instanceof TypeError ? new ConnectionError(input.baseUrl ?? url, cause) : cause;
    });
    if (!response.ok) throw new ApiError(response, error);
    return { data, status: response.status, headers: response.headers };
  }

  // `Client` types inputs and outputs, so the implementation treats all operations alike.
  function send(verb: HttpMethod, path: string, input: UntypedInput = {}): Promise<Answer<unknown>> {
    const keyed = verb === "post" && path !== INGESTION_PATH ? withKey(input) : input;
    const policy = { verb, has_key: hasKey(keyed), retries, signal: input.signal ?? signal };
    return withRetries(() => attempt(verb, path, keyed), policy);
  }
  const call = (verb: HttpMethod) => async (path: string, input?: UntypedInput) => (await send(verb, path, input)).data;

  function list(path: string, { params, ...input }: UntypedInput = {}) {
    const read = async (query: Record<string, unknown>) => {
      const { data, headers } = await send("get", path, { ...input, params: { ...params, query } });
      return { body: data as Page["body"], headers };
    };
    return readPages(read, params?.query ?? {}, LISTS_WITH_OWN_CURSORS.test(path));
  }

  function stream(path: string, { params, ...input }: UntypedInput = {}) {
    // The service may still hold a broken connection open. A new connection with the same id replaces it.
    const query = { client_id: randomId(), ...params?.query };
    const open = async (id: string | undefined) => {
      const header = id === undefined ? {} : { "Last-Event-ID": id };
      const opened = await attempt("get", path, {
        ...input,
        params: { ...params, query, header },
        baseUrl: stream_url,
        parseAs: "stream",
      });
      return opened.data as ReadableStream<Uint8Array<ArrayBuffer>>;
    };
    return follow(open, params?.header?.["Last-Event-ID"], input.signal ?? signal);
  }

  function changes(options: ChangesOptions = {}) {
    const shared = options.signal ? { signal: options.signal } : {};
    const feed = {
      read: async (query: Record<string, unknown>) =>
        (await send("get", CHANGES_PATH, { ...shared, params: { query } })).data as never,
      follow: (query: Record<string, unknown>, last_id: string) =>
        stream(`${CHANGES_PATH}/stream`, { ...shared, params: { query, header: { "Last-Event-ID": last_id } } }),
    };
    return readChanges(feed, options);
  }

  const methods = { get: call("get"), post: call("post"), put: call("put"), patch: call("patch"), delete: call("delete") };
  return { ...methods, send, list, stream, changes } as unknown as Client;
}

/** Adds an Idempotency-Key that all attempts of a call share, unless the caller set one. */
const withKey = (input: UntypedInput): UntypedInput =>
  hasKey(input)
    ? input
    : { ...input, params: { ...input.params, header: { ...input.params?.header, [IDEMPOTENCY_KEY]: randomId() } } };

function hasKey({ headers, params }: UntypedInput): boolean {
  const names = [...new Headers(headers).keys(), ...Object.keys(params?.header ?? {})];
  return names.some((name) => name.toLowerCase() === IDEMPOTENCY_KEY.toLowerCase());
}

interface UntypedInput {
  params?: { header?: Record<string, string | undefined>; query?: Record<string, unknown> };
  headers?: ConstructorParameters<typeof Headers>[0];
  signal?: AbortSignal;
  baseUrl?: string;
  parseAs?: "stream";
  fetch?: (request: Request) => Promise<Response>;
}

type UntypedRequest = (
  verb: HttpMethod,
  path: string,
  input: UntypedInput,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
