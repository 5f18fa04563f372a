import type { components } from "@board/client/api";

type Schemas = components["schemas"];

export type Board = Schemas["Board"];
export type Task = Schemas["SnapshotTask"];
export type Run = Schemas["Run"];
export type Step = Schemas["RunStep"];
export type ToolCall = Extract<Step, { kind: "tool_call" }>;
export type TaskRun = Schemas["TaskRun"];
export type Status = Task["status"];
export type Agent = Schemas["AgentRead"];
export type AgentFile = Schemas["AgentFile"];
export type Approval = Schemas["Approval"];
export type Comment = Schemas["TaskComment"];
export type Member = Schemas["Member"];
export type Organization = Schemas["OrganizationListItem"];
export type ActivityEvent = Schemas["ActivityEvent"];
export type Job = Schemas["Job"];
export type Gateway = Schemas["Gateway"];
export type Webhook = Schemas["BoardWebhook"];
export type WebhookUpdate = Omit<Schemas["BoardWebhookUpdate"], "previous_secret">;
export type Payload = Schemas["BoardWebhookPayloadListed"];
export type SlackApp = Schemas["SlackApp"];
export type SlackLink = Schemas["SlackLink"];
export type Subscription = Schemas["Subscription"];
export type UsageMetrics = Schemas["UsageMetrics"];
export type UsageRow = UsageMetrics["rows"][number];
export type UsageSums = Schemas["UsageSums"];
export type UsageGrouping = UsageMetrics["group_by"];
export type Budget = Schemas["Budget"];
export type BudgetCreate = Schemas["BudgetCreate"];
export type BudgetUpdate = Schemas["BudgetUpdate"];
export type Tag = Schemas["Tag"];
export type CustomField = Schemas["CustomField"];
export type BoardGroup = Schemas["BoardGroup"];
export type Skill = Schemas["MarketplaceSkillCard"];
export type SkillPack = Schemas["SkillPack"];
export type SkillPackSync = Schemas["SkillPackSyncRun"];
export type TemplateSync = Schemas["TemplateSyncRun"];
export type Artifact = Schemas["Artifact"];
export type StoredArtifact = Schemas["OrganizationArtifact"];
export type ArtifactUsage = Schemas["ArtifactUsage"];
export type PayloadUsage = Schemas["WebhookPayloadUsage"];
export type NewArtifact = Schemas["NewArtifact"];
export type Dashboard = Schemas["Dashboard"];
export type OnboardingSession = Schemas["OnboardingSession"];
export type UserUpdate = Schemas["UserUpdate"];
export type SavedView = Schemas["SavedView"];
export type Key = Schemas["Key"];
export type NewKey = Schemas["NewKey"];
export type KeyCreate = Schemas["KeyCreate"];
export type KeyRotate = Schemas["KeyRotate"];
export type AuditEvent = Schemas["AuditEvent"];
export type Channel = Schemas["Channel"];
export type NotificationPreferences = Schemas["NotificationPreferences"];
export type UserNotification = Schemas["UserNotification"];
export type SubscriptionCreate = Schemas["SubscriptionCreate"];
export type SubscriptionUpdate = Schemas["SubscriptionUpdate"];
export type Delivery = Schemas["SubscriptionDelivery"];

/** The columns of a board, from left to right. */
export const STATUSES: readonly Status[] = ["inbox", "in_progress", "blocked", "review", "done"];

export const STATUS_NAMES: Record<Status, string> = {
  inbox: "Inbox",
  in_progress: "In progress",
  blocked: "Blocked",
  review: "Review",
  done: "Done",
};

export const PRIORITIES = ["high", "medium", "low"] as const;
