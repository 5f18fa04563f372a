import type { ComponentType } from "preact";
import { Preferences } from "../inbox/preferences.tsx";
import { OwnKeys } from "../key/keys.tsx";
import { route, toView } from "../route.ts";
import { Tabs } from "../ui/tabs.tsx";
import { Profile } from "./profile.tsx";

const TABS: readonly { name: string; label: string; page: ComponentType }[] = [
  { name: "profile", label: "Profile", page: Profile },
  { name: "notifications", label: "Notifications", page: Preferences },
  { name: "keys", label: "Keys", page: OwnKeys },
];

/** What belongs to the person who is signed in. */
export function Personal() {
  const tab = TABS.find(({ name }) => name === route.value.path[0]) ?? TABS[0]!;
  const Page = tab.page;
  return (
    <main class="view">
      <h1>You</h1>
      <Tabs
        label="You"
        tabs={TABS.map(({ name, label }) => [toView("personal", name), label] as const)}
        current={toView("personal", tab.name)}
      />
      <Page />
    </main>
  );
}
