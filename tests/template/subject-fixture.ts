import type { BoardRow } from "@board/core/organization/access";
import { mainSessionKey } from "@board/core/context/actor";
import type { AgentRow } from "@board/core/agent/agent";
import { leadSessionKey } from "@board/core/values/session-key";
import type { GatewayRow } from "@board/core/gateway/target";
import type { Colleague, TemplateSubject, UserRow } from "@board/openclaw/template/template-data";
import type { AgentRole, FileName } from "@board/openclaw/template/files";
import { renderFiles } from "@board/openclaw/template/render";
import type { RenderOptions } from "@board/openclaw/template/values";

const WHEN = new Date("2026-11-20T10:00:00.000Z");
const id = (digit: number) => `${digit}`.repeat(8) + "-1111-4111-8111-111111111111";
export const IDS = { organization: id(1), gateway: id(2), board: id(3), lead: id(4), worker: id(5), main: id(6), user: id(7) };
export const OPTIONS: RenderOptions = { auth_token: "T".repeat(42) + "-", base_url: "https://boards.example" };

const gateway: GatewayRow = {
  id: IDS.gateway,
  organization_id: IDS.organization,
  name: "Berlin",
  kind: "openclaw",
  url: "wss://gateway.example",
  token_sealed: null,
  workspace_root: "~/agents/",
  disable_device_pairing: false,
  allow_insecure_tls: false,
  version: "2026.2.9",
  connected: true,
  last_error: null,
  checked_at: WHEN,
  sync_interval_minutes: null,
  sync_due_at: null,
  created_at: WHEN,
  updated_at: WHEN,
};

export const board: BoardRow = {
  id: IDS.board,
  organization_id: IDS.organization,
  gateway_id: IDS.gateway,
  board_group_id: null,
  name: "Releases",
  slug: "releases",
  description: "What we ship",
  board_type: "goal",
  objective: "Ship the first version to ten pilot customers,\nwithout an incident that a customer notices.",
  success_metrics: { pilot_customers: 10, max_open_incidents: 0 },
  target_date: new Date("2030-06-30T00:00:00.000Z"),
  goal_confirmed: true,
  goal_source: "user",
  require_approval_for_done: true,
  require_review_before_done: false,
  comment_required_for_review: true,
  block_status_changes_with_pending_approval: false,
  only_lead_can_change_status: false,
  max_agents: 5,
  escalate_after_minutes: null,
  created_at: WHEN,
  updated_at: WHEN,
};

export const user: UserRow = {
  id: IDS.user,
  auth_issuer: "https://issuer.example",
  auth_subject: "sam",
  email: "sam@example.com",
  name: "Samantha Jones",
  preferred_name: "Sam",
  pronouns: "she/her",
  timezone: "Europe/Berlin",
  notes: "Prefers short updates in the morning.\nReads them on the phone.",
  context: "Runs the product team of a small company that makes tools for bakeries.",
  active_organization_id: IDS.organization,
  service_organization_id: null,
  created_at: WHEN,
  updated_at: WHEN,
};

const PROFILE = {
  role: "Backend Engineer",
  communication_style: "friendly, precise",
  emoji: ":wrench:",
  autonomy_level: "balanced",
  verbosity: "concise",
  output_format: "bullets",
  update_cadence: "daily",
  purpose: "Keeps the release pipeline green",
  personality: "Curious and patient",
  custom_instructions: "Ask before spending money.\nWrite commit messages in English.",
};

const AGENTS_BY_ROLE: Record<AgentRole, Pick<AgentRow, "id" | "name" | "board_id" | "is_board_lead" | "openclaw_session_id">> = {
  lead: {
    id: IDS.lead,
    name: "Ada Lovelace",
    board_id: IDS.board,
    is_board_lead: true,
    openclaw_session_id: leadSessionKey(IDS.board),
  },
  worker: {
    id: IDS.worker,
    name: "Grace",
    board_id: IDS.board,
    is_board_lead: false,
    openclaw_session_id: `agent:mc-${IDS.worker}:main`,
  },
  main: {
    id: IDS.main,
    name: "Berlin Gateway Agent",
    board_id: null,
    is_board_lead: false,
    openclaw_session_id: mainSessionKey(IDS.gateway),
  },
};

const COLLEAGUES: Colleague[] = [
  { id: IDS.lead, name: "Ada Lovelace", is_board_lead: true, role: "Board Lead" },
  { id: IDS.worker, name: "Grace", is_board_lead: false, role: "Backend Engineer" },
  { id: id(8), name: "Linus the Reviewer", is_board_lead: false, role: "Reviewer" },
  { id: id(9), name: "42 Writer", is_board_lead: false, role: "Technical Writer" },
];

export interface SubjectChanges {
  agent?: Partial<AgentRow>;
  board?: Partial<BoardRow>;
  gateway?: Partial<GatewayRow>;
  user?: Partial<UserRow> | null;
  colleagues?: readonly Colleague[];
}

/** Returns the data of an agent with this role, on a board that has every field set. */
export function subjectOf(role: AgentRole, changes: SubjectChanges = {}): TemplateSubject {
  const agent: AgentRow = {
    ...AGENTS_BY_ROLE[role],
    gateway_id: IDS.gateway,
    status: "ready",
    agent_token_hash: null,
    agent_token_lookup: null,
    heartbeat_config: null,
    identity_profile: PROFILE,
    identity_template: null,
    soul_template: null,
    last_seen_at: null,
    previous_status: null,
    lifecycle_generation: 1,
    wake_attempts: 0,
    last_wake_sent_at: null,
    checkin_deadline_at: null,
    last_provision_error: null,
    requests_per_minute: null,
    change_tx: "1",
    change_seq: 1n,
    created_at: WHEN,
    updated_at: WHEN,
    ...changes.agent,
  };
  return {
    agent,
    board: role === "main" ? null : { ...board, ...changes.board },
    gateway: { ...gateway, ...changes.gateway },
    user: changes.user === null ? null : { ...user, ...changes.user },
    colleagues: role === "main" ? [] : (changes.colleagues ?? COLLEAGUES),
  };
}

/** Renders the files of a subject, and returns their contents by name. */
export const filesOf = (subject: TemplateSubject, options: Partial<RenderOptions> = {}): Record<FileName, string> =>
  Object.fromEntries(renderFiles(subject, { ...OPTIONS, ...options }).map(({ name, content }) => [name, content])) as Record<
    FileName,
    string
  >;

export const ROLES: readonly AgentRole[] = ["lead", "worker", "main"];
