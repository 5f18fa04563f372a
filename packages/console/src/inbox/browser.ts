import { signal } from "@preact/signals";
import { api, isStatus, signOut } from "../api.ts";
import { go } from "../route.ts";
import { refreshUnread } from "./unread.ts";

/** This browser's notification channel, and the push endpoint that the service has stored for it. */
interface Known {
  channel_id: string;
  name: string;
  endpoint: string;
}

const STORAGE_KEY = "board.push";
const WORKER = "/service-worker.js";
const SIGN_OUT_MS = 3_000;

const stored = localStorage.getItem(STORAGE_KEY);
/** This browser's channel; null while nobody is notified in this browser. */
export const known = signal<Known | null>(stored ? (JSON.parse(stored) as Known) : null);

function remember(next: Known | null): void {
  known.value = next;
  if (next) localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  else localStorage.removeItem(STORAGE_KEY);
}

/**
 * Under the page's policy, only an address that a named Trusted Types policy has returned can be loaded as a script. This policy
 * always returns the same address.
 */
const toScriptUrl = (): string => {
  const { trustedTypes } = globalThis as { trustedTypes?: TypeFactory };
  return trustedTypes ? trustedTypes.createPolicy("worker", { createScriptURL: () => WORKER }).createScriptURL("") : WORKER;
};
interface TypeFactory {
  createPolicy(name: string, rules: object): { createScriptURL(input: string): string };
}

const findSubscription = async (): Promise<PushSubscription | null> => {
  const registration = await navigator.serviceWorker?.getRegistration("/");
  return (await registration?.pushManager.getSubscription()) ?? null;
};

/** Asks the person for permission, subscribes this browser at its push service, and registers it as a channel. */
export async function addBrowser(name: string): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error("This browser does not allow the page to notify you. Allow it in the settings of the browser.");
  const { public_key } = await api.get("/api/v1/users/me/push");
  await navigator.serviceWorker.register(toScriptUrl(), { scope: "/", updateViaCache: "none" });
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: public_key };
  const subscription = await pushManager.subscribe(options).catch(async (error: unknown) => {
    // This error means that the browser has a subscription with another key, from an earlier service at this address.
    if (!(error instanceof DOMException) || error.name !== "InvalidStateError") throw error;
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  });
  await store(name, subscription);
}

async function store(name: string, subscription: PushSubscription): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  const body = { name, endpoint: endpoint!, keys: { p256dh: keys!["p256dh"]!, auth: keys!["auth"]! } };
  const { id: channel_id } = await api.post("/api/v1/users/me/push", { body });
  remember({ channel_id, name, endpoint: endpoint! });
}

/** Removes a channel. If it is this browser's channel, the browser's push subscription ends too. */
export async function removeChannel(channel_id: string): Promise<void> {
  try {
    await api.delete("/api/v1/users/me/channels/{channel_id}", { params: { path: { channel_id } } });
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
  if (known.value?.channel_id === channel_id) await forget();
}

async function forget(): Promise<void> {
  remember(null);
  await (await findSubscription())?.unsubscribe();
  await (await navigator.serviceWorker?.getRegistration("/"))?.unregister();
}

/** Stores this browser's push endpoint again if it has changed, because push services sometimes change it. */
export async function renewBrowser(): Promise<void> {
  const { value } = known;
  if (!value) return;
  const subscription = await findSubscription();
  if (!subscription) return remember(null);
  if (subscription.endpoint === value.endpoint) return;
  await store(value.name, subscription);
  await api
    .delete("/api/v1/users/me/channels/{channel_id}", { params: { path: { channel_id: value.channel_id } } })
    .catch(() => {});
}

/** Removes this browser's channel and signs out. Signing out works even if the service does not answer. */
export async function leave(): Promise<void> {
  const { value } = known;
  if (value) await Promise.race([removeChannel(value.channel_id), pause(SIGN_OUT_MS)]).catch(() => {});
  await leaveDeleted();
}

/** Signs out of an account that the service has deleted with its channels. */
export async function leaveDeleted(): Promise<void> {
  if (known.value) await forget().catch(() => {});
  signOut();
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** Handles what the service worker reports: a push message has arrived, or the person has opened a message. */
export function followWorker(): void {
  navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<{ type?: unknown; url?: unknown } | null>) => {
    if (data?.type === "notified") void refreshUnread();
    if (data?.type === "open" && typeof data.url === "string" && data.url.startsWith("/#/")) go(data.url.slice(1));
  });
}
