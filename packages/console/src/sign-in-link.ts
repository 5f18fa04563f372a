import { signal } from "@preact/signals";
import { signInByLink } from "./accounts.ts";
import { isAccepted, token, useToken } from "./api.ts";
import { readAuth } from "./config.ts";
import { replace } from "./route.ts";
import { showError } from "./ui/toast.tsx";

/** Whether the token of a link is being checked. */
export const isCheckingLink = signal(false);
/** A token from a link that a signed-in person has opened. It is used only if the person agrees. */
export const offeredToken = signal<string | null>(null);

/** Anybody can create a link, so opening one must not sign a person in to another person's account. */
async function checkToken(candidate: string): Promise<void> {
  if ((await readAuth()).mode !== "local" || candidate === token.value) return;
  if (!(await isAccepted(candidate))) throw new Error("The service does not accept its token.");
  if (token.value === null) useToken(candidate);
  else offeredToken.value = candidate;
}

/** The invite from a link that was opened. The page asks for a name and a password. */
export const openedInvite = signal<string | null>(null);

/** The link of a mail that was opened. The page signs in when its button is pressed, because mail programs open links too. */
export const openedMail = signal<string | null>(null);

/** Removes the token from the address bar, and then signs in with it. A local server prints such links. */
async function openLink(): Promise<void> {
  const fields = new URLSearchParams(location.hash.slice(1));
  const [candidate, link, invite] = [fields.get("token"), fields.get("link"), fields.get("invite")];
  const mail = fields.get("mail");
  if (!candidate && !link && !invite && !mail) return;
  replace("/");
  openedInvite.value = invite;
  openedMail.value = mail;
  if (invite || mail) return;
  isCheckingLink.value = true;
  await (link ? openSignInLink(link) : checkToken(candidate!)).catch((error: unknown) =>
    showError("The link did not sign you in", error),
  );
  isCheckingLink.value = false;
}

/** A person who is signed in stays signed in as the same person, because anybody can create a page that leads here. */
async function openSignInLink(link: string): Promise<void> {
  if (token.value === null) await signInByLink(link);
}

/** Also handles a link that is opened in a page that is already open. */
export function followSignInLinks(): void {
  addEventListener("hashchange", () => void openLink());
  void openLink();
}

export function answerOffer(isWanted: boolean): void {
  if (isWanted) {
    useToken(offeredToken.value!);
    // The page still shows the work of the person with the earlier token.
    location.reload();
  }
  offeredToken.value = null;
}
