import type { ComponentType } from "preact";
import { lazy } from "../ui/lazy.tsx";
import { TabbedView } from "../ui/tabs.tsx";
import { Budgets } from "../usage/budgets.tsx";
import { Subscriptions } from "../subscription/subscriptions.tsx";
import { CustomFields } from "./custom-fields.tsx";
import { General } from "./general.tsx";
import { Groups } from "./groups.tsx";
import { Invites } from "./invites.tsx";
import { Members } from "./members.tsx";
import { PayloadUse } from "./payload-use.tsx";
import { organizationTabs, type OrganizationTabName } from "./tabs.ts";
import { Tags } from "./tags.tsx";
import "../styles/usage.css";

const Keys = lazy("the keys", async () => (await import("../key/keys.tsx")).OrganizationKeys);
const StoredFiles = lazy("the files", async () => (await import("../file/stored.tsx")).StoredFiles);
const Audit = lazy("the audit log", async () => (await import("../audit/audit.tsx")).Audit);

const Slack = lazy("the Slack app", async () => (await import("./slack.tsx")).Slack);

/** Shows what uses the organization's storage. */
const Storage = () => (
  <>
    <PayloadUse />
    <StoredFiles />
  </>
);

const PAGES: Record<OrganizationTabName, ComponentType> = {
  members: Members,
  invites: Invites,
  tags: Tags,
  fields: CustomFields,
  groups: Groups,
  subscriptions: Subscriptions,
  slack: Slack,
  keys: Keys,
  budgets: Budgets,
  files: Storage,
  audit: Audit,
  general: General,
};

/** Shows who belongs to the organization, and what all its boards share. */
export const OrganizationPage = () => (
  <TabbedView view="organization" title="Organization" tabs={organizationTabs()} pages={PAGES} />
);
