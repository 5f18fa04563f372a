import type { ComponentType } from "preact";
import { route, toView } from "../route.ts";
import { isAdmin } from "../session.ts";
import { lazy } from "../ui/lazy.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Budgets } from "../usage/budgets.tsx";
import { Subscriptions } from "../subscription/subscriptions.tsx";
import { CustomFields } from "./custom-fields.tsx";
import { General } from "./general.tsx";
import { Groups } from "./groups.tsx";
import { Invites } from "./invites.tsx";
import { Members } from "./members.tsx";
import { PayloadUse } from "./payload-use.tsx";
import { Tags } from "./tags.tsx";
import "../styles/usage.css";

const Keys = lazy("the keys", async () => (await import("../key/keys.tsx")).OrganizationKeys);
const StoredFiles = lazy("the files", async () => (await import("../file/stored.tsx")).StoredFiles);
const Audit = lazy("the audit log", async () => (await import("../audit/audit.tsx")).Audit);

const Slack = lazy("the Slack app", async () => (await import("./slack.tsx")).Slack);

/** What takes room. */
const Storage = () => (
  <>
    <PayloadUse />
    <StoredFiles />
  </>
);

interface Tab {
  name: string;
  label: string;
  page: ComponentType;
  isForAdmins?: true;
}

const TABS: readonly Tab[] = [
  { name: "members", label: "Members", page: Members },
  { name: "invites", label: "Invites", page: Invites, isForAdmins: true },
  { name: "tags", label: "Tags", page: Tags },
  { name: "fields", label: "Custom fields", page: CustomFields },
  { name: "groups", label: "Board groups", page: Groups },
  { name: "subscriptions", label: "Subscriptions", page: Subscriptions, isForAdmins: true },
  { name: "slack", label: "Slack", page: Slack, isForAdmins: true },
  { name: "keys", label: "Keys", page: Keys, isForAdmins: true },
  { name: "budgets", label: "Budgets", page: Budgets },
  { name: "files", label: "Storage", page: Storage },
  { name: "audit", label: "Audit", page: Audit, isForAdmins: true },
  { name: "general", label: "General", page: General },
];

/** Shows who belongs to the organization, and what all its boards share. */
export function OrganizationPage() {
  const tabs = TABS.filter(({ isForAdmins }) => !isForAdmins || isAdmin.value);
  const tab = tabs.find(({ name }) => name === route.value.path[0]) ?? tabs[0]!;
  const Page = tab.page;
  return (
    <main class="view">
      <h1>Organization</h1>
      <Tabs
        label="Organization"
        tabs={tabs.map(({ name, label }) => [toView("organization", name), label] as const)}
        current={toView("organization", tab.name)}
      />
      <Page />
    </main>
  );
}
