import type { ComponentType } from "preact";
import { Preferences } from "../inbox/preferences.tsx";
import { OwnKeys } from "../key/keys.tsx";
import { lazy } from "../ui/lazy.tsx";
import { TabbedView } from "../ui/tabs.tsx";
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
export const Personal = () => <TabbedView view="personal" title="You" tabs={personalTabs()} pages={PAGES} />;
