import { signal } from "@preact/signals";
import { isAccepted, token, useToken } from "./api.ts";
import { readAuth } from "./config.ts";
import { replace } from "./route.ts";
import { showError } from "./ui/toast.tsx";

/** Whether the token of a link is being checked. */
export const isCheckingLink = signal(false);
/** The token of a link that somebody who is signed in has opened; it is used when the person agrees. */
export const offeredToken = signal<string | null>(null);

/** Anybody can make a link, so its token must not sign a person in to an account of somebody else. */
async function checkToken(candidate: string): Promise<void> {
  if ((await readAuth()).mode !== "local" || candidate === token.value) return;
  if (!(await isAccepted(candidate))) throw new Error("The service does not accept its token.");
  if (token.value === null) useToken(candidate);
  else offeredToken.value = candidate;
}

/** The link that a local server prints signs in. The token leaves the address bar before anything else happens. */
async function openLink(): Promise<void> {
  const candidate = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!candidate) return;
  replace("/");
  isCheckingLink.value = true;
  await checkToken(candidate).catch((error: unknown) => showError("The link did not sign you in", error));
  isCheckingLink.value = false;
}

/** Also for a link that is opened where the page is open already. */
export function followSignInLinks(): void {
  addEventListener("hashchange", () => void openLink());
  void openLink();
}

export function answerOffer(isWanted: boolean): void {
  if (isWanted) {
    useToken(offeredToken.value!);
    // The page shows the work of the person with the other token.
    location.reload();
  }
  offeredToken.value = null;
}
