import type { operations } from "@board/client/api";

export type AuditQuery = NonNullable<operations["get_audit"]["parameters"]["query"]>;
export type AuditAction = NonNullable<AuditQuery["action"]>;

/** The text for each action, in the past tense. The person and the target are shown next to it. */
export const ACTION_NAMES: Record<AuditAction, string> = {
  "agent.created": "Agent made",
  "agent.removed": "Agent removed",
  "agent.token_rotated": "Token of an agent replaced",
  "approval.decided": "Approval decided",
  "audit.exported": "Audit log exported",
  "board.created": "Board made",
  "board.removed": "Board removed",
  "board.updated": "Board changed",
  "board_group.removed": "Board group removed",
  "budget.created": "Budget made",
  "budget.removed": "Budget removed",
  "budget.updated": "Budget changed",
  "custom_field.removed": "Custom field removed",
  "gateway.created": "Gateway registered",
  "gateway.removed": "Gateway removed",
  "gateway.updated": "Gateway changed",
  "invite.accepted": "Invite accepted",
  "invite.created": "Person invited",
  "invite.removed": "Invite withdrawn",
  "key.created": "Key made",
  "key.revoked": "Key revoked",
  "key.rotated": "Key rotated",
  "member.access_changed": "Access of a member changed",
  "member.link_created": "Sign-in link made",
  "member.removed": "Member removed",
  "member.role_changed": "Role of a member changed",
  "organization.updated": "Organization renamed",
  "account.changed": "Account changed",
  "skill.removed": "Skill removed",
  "skill_pack.removed": "Skill pack removed",
  "slack.connected": "Slack connected",
  "slack.removed": "Slack disconnected",
  "sign_in.ended": "Session ended",
  "sign_in.failed": "Sign-in failed",
  "sign_in.succeeded": "Signed in",
  "subscription.created": "Subscription made",
  "subscription.removed": "Subscription removed",
  "subscription.updated": "Subscription changed",
  "tag.removed": "Tag removed",
  "usage.exported": "Usage exported",
  "webhook.created": "Webhook made",
  "webhook.removed": "Webhook removed",
  "webhook.updated": "Webhook changed",
};

/** Returns the text for an action. A newer service may record actions that this page does not know; they are shown unchanged. */
export const actionName = (action: string): string => (ACTION_NAMES as Record<string, string>)[action] ?? action;
