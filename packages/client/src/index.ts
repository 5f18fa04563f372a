export type * from "./api.ts";
export { type Change, type ChangesOptions, type ChangeType } from "./changes.ts";
export { type Answer, type Client, type ClientOptions, createClient } from "./client.ts";
export { ApiError, ConnectionError } from "./error.ts";
export type { StreamEvent } from "./events.ts";
export type { EventData, HttpMethod, Input, Item, ListPath, Output, PathOf, StreamPath } from "./operation.ts";
