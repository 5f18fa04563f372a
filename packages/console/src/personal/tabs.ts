import { SESSION, token } from "../api.ts";

const TABS = [
  { name: "profile", label: "Profile", content: "theme and language" },
  { name: "notifications", label: "Notifications" },
  { name: "keys", label: "Keys" },
  { name: "account", label: "Account", content: "password, passkeys and sessions", isOfAccounts: true },
] as const satisfies readonly PersonalTab[];

interface PersonalTab {
  name: string;
  label: string;
  /** Other words by which people look for it. */
  content?: string;
  /** Whether the page is only for people who are signed in with an account of the service. */
  isOfAccounts?: true;
}

export type PersonalTabName = (typeof TABS)[number]["name"];

/** Returns the pages about the person that apply to the way in which the person is signed in. */
export const personalTabs = () => TABS.filter((tab: PersonalTab) => !tab.isOfAccounts || token.value === SESSION);
