import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { SESSION, token } from "../api.ts";
import { toView } from "../route.ts";
import { readAccount, readPasskeys } from "./account-data.ts";

/** What the person's account still lacks; null until it is read, and where people have no accounts. */
const missing = signal<{ way: boolean; address: boolean } | null>(null);

/** Reads again what the account lacks. Call it after a change of the account. */
export async function readMissing(): Promise<void> {
  if (token.value !== SESSION) return;
  const [account, passkeys] = await Promise.all([readAccount(), readPasskeys()]);
  missing.value = { way: account.ways === 0 && passkeys.items.length === 0, address: account.email === "" };
}

/** Says in the navigation that the person could not sign in from elsewhere. */
export function MissingWay() {
  useEffect(() => void readMissing().catch(() => {}), []);
  if (!missing.value?.way) return null;
  return (
    <p class="muted nav-hint">
      Only this browser knows you. <a href={toView("personal", "account")}>Add a password or a passkey</a> to sign in from
      elsewhere.
    </p>
  );
}

/** Says above the invites that other people would not recognize who invites them. */
export function MissingAddress() {
  if (!missing.value?.address) return null;
  return (
    <p class="muted">
      Others see you without an e-mail address. <a href={toView("personal", "account")}>Enter your name and address</a> before you
      invite somebody.
    </p>
  );
}
