import { api } from "../api.ts";
import type { Key, KeyCreate, KeyRotate, NewKey } from "../types.ts";

const LIMIT = 200;

/** Reads and changes either the organization's keys or the person's own. */
export interface KeyStore {
  read: (signal: AbortSignal) => Promise<{ items: Key[]; total: number }>;
  create: (body: KeyCreate) => Promise<NewKey>;
  rotate: (key: Key, body: KeyRotate) => Promise<NewKey>;
  revoke: (key: Key) => Promise<unknown>;
}

const pathOf = ({ id }: Key) => ({ params: { path: { key_id: id } } });

export const organizationKeys: KeyStore = {
  read: (signal) => api.get("/api/v1/keys", { params: { query: { limit: LIMIT } }, signal }),
  create: (body) => api.post("/api/v1/keys", { body }),
  rotate: (key, body) => api.post("/api/v1/keys/{key_id}/rotate", { ...pathOf(key), body }),
  revoke: (key) => api.delete("/api/v1/keys/{key_id}", pathOf(key)),
};

export const ownKeys: KeyStore = {
  read: (signal) => api.get("/api/v1/users/me/keys", { params: { query: { limit: LIMIT } }, signal }),
  create: (body) => api.post("/api/v1/users/me/keys", { body }),
  rotate: (key, body) => api.post("/api/v1/users/me/keys/{key_id}/rotate", { ...pathOf(key), body }),
  revoke: (key) => api.delete("/api/v1/users/me/keys/{key_id}", pathOf(key)),
};
