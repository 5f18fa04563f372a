import { askForVerification, callAuth } from "../accounts.ts";
import { readAuth } from "../config.ts";

export interface Account {
  name: string;
  /** Blank while the person has not given an address. */
  email: string;
  isVerified: boolean;
  hasPassword: boolean;
  /** How many ways to sign in the account has besides links and passkeys. */
  ways: number;
  /** Whether the service sends mail. */
  canMail: boolean;
}

/** The service gives an account this address while its person has given none, because every account needs one. */
const UNKNOWN_ADDRESS = /@accounts\.invalid$/;

export async function readAccount(): Promise<Account> {
  const [session, ways, auth] = await Promise.all([
    callAuth<{ user: { name: string; email: string; emailVerified: boolean } } | null>("GET", "/get-session"),
    callAuth<{ providerId: string }[]>("GET", "/list-accounts"),
    readAuth(),
  ]);
  if (!session) throw new Error("You are not signed in by an account.");
  const { name, email, emailVerified } = session.user;
  return {
    name,
    email: UNKNOWN_ADDRESS.test(email) ? "" : email,
    isVerified: emailVerified,
    ways: ways.length,
    hasPassword: ways.some(({ providerId }) => providerId === "credential"),
    canMail: auth.mode === "accounts" && auth.ways.includes("mail"),
  };
}

export interface Passkey {
  id: string;
  name: string | null;
  createdAt: string | null;
}

export const readPasskeys = async () => ({ items: await callAuth<Passkey[]>("GET", "/passkey/list-user-passkeys") });

/** Changes the e-mail address. A verified address is replaced only after the person has opened a link sent to the new one. */
export async function changeAddress({ isVerified, canMail }: Account, newEmail: string): Promise<string> {
  if (!isVerified || !canMail) {
    await callAuth("POST", "/change-email", { newEmail });
    return "Your account was changed.";
  }
  await askForVerification(newEmail);
  return `Open the link that was sent to ${newEmail}. Until then the address stays as it is.`;
}
