import type { ComponentType } from "preact";
import { SESSION, token } from "../api.ts";
import { Preferences } from "../inbox/preferences.tsx";
import { OwnKeys } from "../key/keys.tsx";
import { route, toView } from "../route.ts";
import { lazy } from "../ui/lazy.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Profile } from "./profile.tsx";

const Account = lazy("your account", async () => (await import("../account/account.tsx")).AccountPage);

interface Tab {
  name: string;
  label: string;
  page: ComponentType;
  /** Whether the page is only for people who are signed in with an account of the service. */
  isOfAccounts?: true;
}

const TABS: readonly Tab[] = [
  { name: "profile", label: "Profile", page: Profile },
  { name: "notifications", label: "Notifications", page: Preferences },
  { name: "keys", label: "Keys", page: OwnKeys },
  { name: "account", label: "Account", page: Account, isOfAccounts: true },
];

/** Shows the settings and data that belong to the signed-in person. */
export function Personal() {
  const tabs = TABS.filter(({ isOfAccounts }) => !isOfAccounts || token.value === SESSION);
  const tab = tabs.find(({ name }) => name === route.value.path[0]) ?? tabs[0]!;
  const Page = tab.page;
  return (
    <main class="view">
      <h1>You</h1>
      <Tabs
        label="You"
        tabs={tabs.map(({ name, label }) => [toView("personal", name), label] as const)}
        current={toView("personal", tab.name)}
      />
      <Page />
    </main>
  );
}
