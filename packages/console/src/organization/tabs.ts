import { isAdmin } from "../session.ts";

/** The pages of the organization, without their content, so that the board can list them without loading it. */
const TABS = [
  { name: "members", label: "Members" },
  { name: "invites", label: "Invites", content: "invite a person", isForAdmins: true },
  { name: "tags", label: "Tags" },
  { name: "fields", label: "Custom fields" },
  { name: "groups", label: "Board groups" },
  { name: "subscriptions", label: "Subscriptions", isForAdmins: true },
  { name: "slack", label: "Slack", isForAdmins: true },
  { name: "keys", label: "Keys", isForAdmins: true },
  { name: "budgets", label: "Budgets" },
  { name: "files", label: "Storage", content: "files and payloads" },
  { name: "audit", label: "Audit", isForAdmins: true },
  { name: "general", label: "General" },
] as const satisfies readonly OrganizationTab[];

interface OrganizationTab {
  name: string;
  label: string;
  /** Other words by which people look for it. */
  content?: string;
  isForAdmins?: true;
}

export type OrganizationTabName = (typeof TABS)[number]["name"];

/** Returns the pages that the person may see. */
export const organizationTabs = () => TABS.filter((tab: OrganizationTab) => !tab.isForAdmins || isAdmin.value);
