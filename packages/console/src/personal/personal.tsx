import type { ComponentType } from "preact";
import { Preferences } from "../inbox/preferences.tsx";
import { OwnKeys } from "../key/keys.tsx";
import { route, toView } from "../route.ts";
import { lazy } from "../ui/lazy.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Profile } from "./profile.tsx";
import { personalTabs, type PersonalTabName } from "./tabs.ts";

const Account = lazy("your account", async () => (await import("../account/account.tsx")).AccountPage);

const PAGES: Record<PersonalTabName, ComponentType> = {
  profile: Profile,
  notifications: Preferences,
  keys: OwnKeys,
  account: Account,
};

/** Shows the settings and data that belong to the signed-in person. */
export function Personal() {
  const tabs = personalTabs();
  const tab = tabs.find(({ name }) => name === route.value.path[0]) ?? tabs[0]!;
  const Page = PAGES[tab.name];
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
