import { signal } from "@preact/signals";

/** Kept for the tab, because a person may leave the page to sign in at another service. */
const STORAGE_KEY = "board.invite";

/** The token of an invite whose link was opened, until the person has joined or declined. */
export const openedInvite = signal<string | null>(sessionStorage.getItem(STORAGE_KEY));

export function keepInvite(token: string): void {
  sessionStorage.setItem(STORAGE_KEY, token);
  openedInvite.value = token;
}

export function forgetInvite(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  openedInvite.value = null;
}
