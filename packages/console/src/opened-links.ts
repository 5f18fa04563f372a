import { signal } from "@preact/signals";

/** The token of a link that was opened. It is kept for the tab, because a person may leave the page to sign in elsewhere. */
function keptToken(key: string) {
  const token = signal<string | null>(sessionStorage.getItem(key));
  return {
    get value() {
      return token.value;
    },
    keep(opened: string): void {
      sessionStorage.setItem(key, opened);
      token.value = opened;
    },
    forget(): void {
      sessionStorage.removeItem(key);
      token.value = null;
    },
  };
}

/** The link of an invite, until the person has joined or declined. */
export const openedInvite = keptToken("board.invite");

/** The link that verifies an e-mail address, until the person is signed in and it was used. */
export const openedAddress = keptToken("board.address");
