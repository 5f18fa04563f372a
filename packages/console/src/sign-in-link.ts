import { signal } from "@preact/signals";
import { signInByLink } from "./accounts.ts";
import { isAccepted, token, useToken } from "./api.ts";
import { readAuth } from "./config.ts";
import { openedAddress, openedInvite } from "./opened-links.ts";
import { replace } from "./route.ts";
import { showError } from "./ui/toast.tsx";

/** Whether the token of a link is being checked. */
export const isCheckingLink = signal(false);
/** A token from a link that a signed-in person has opened. It is used only if the person agrees. */
export const offeredToken = signal<string | null>(null);

/** Uses the token of a link. A person who is signed in must agree first, because a link may be for another person's account. */
async function checkToken(candidate: string): Promise<void> {
  if ((await readAuth()).mode !== "local" || candidate === token.value) return;
  if (!(await isAccepted(candidate))) throw new Error("The service does not accept its token.");
  if (token.value === null) useToken(candidate);
  else offeredToken.value = candidate;
}

/** The link of a mail that was opened. The page signs in when its button is pressed, because mail programs open links too. */
export const openedMail = signal<string | null>(null);

/** Handles a link that contains a secret: removes the secret from the address bar, and then signs in or asks the person. */
async function openLink(): Promise<void> {
  const fields = new URLSearchParams(location.hash.slice(1));
  const [candidate, link, invite] = [fields.get("token"), fields.get("link"), fields.get("invite")];
  const [mail, email] = [fields.get("mail"), fields.get("email")];
  if (!candidate && !link && !invite && !mail && !email) return;
  replace("/");
  if (invite) openedInvite.keep(invite);
  if (email) openedAddress.keep(email);
  openedMail.value = mail;
  if (invite || mail || email) return;
  isCheckingLink.value = true;
  await (link ? openSignInLink(link) : checkToken(candidate!)).catch((error: unknown) =>
    showError("The link did not sign you in", error),
  );
  isCheckingLink.value = false;
}

/** Signs in, unless a person is signed in already, because any web page can send that person to a link of another account. */
async function openSignInLink(link: string): Promise<void> {
  if (token.value === null) await signInByLink(link);
}

/** Handles sign-in links, also a link that is opened while the console is open. */
export function followSignInLinks(): void {
  addEventListener("hashchange", () => void openLink());
  void openLink();
}

export function answerOffer(isWanted: boolean): void {
  if (isWanted) {
    useToken(offeredToken.value!);
    // Without a reload, the page would still show the data of the previous account.
    location.reload();
  }
  offeredToken.value = null;
}
