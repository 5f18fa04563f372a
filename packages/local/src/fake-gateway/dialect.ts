/** Releases of the host whose behaviour was observed; what differs between them stands in this table and nowhere else. */
export type DialectName = "2026.2.9" | "2026.2.26" | "2026.5.7" | "2026.9.6";

/** Whether and when a write to the configuration restarts the host, relative to the answer. */
export type RestartRule = "never" | "after_answer" | "before_answer";

export interface Dialect {
  protocol: 3 | 4;
  max_payload: number;
  nonce_required: boolean;
  signature_skew_ms: number;
  /** `error.details` with machine-readable codes. */
  detailed_errors: boolean;
  /** No scopes asked for means all of them. */
  empty_scopes_are_admin: boolean;
  /** Reading files and configuration needs `operator.read` only. */
  read_covers_configuration: boolean;
  scope_error_code: "INVALID_REQUEST" | "FORBIDDEN";
  pairing_text: string;
  /** A backend on loopback with the shared token needs no pairing. */
  backend_is_trusted: boolean;
  /** The flag that lets a control UI in without a device still exists. */
  control_ui_flag: boolean;
  control_ui_refusal: string;
  /** An Origin equal to the Host header is enough, whatever the name. */
  origin_may_equal_host: boolean;

  agents: "list" | "entries";
  list_patch: "replace" | "by_id";
  /** A patch that changes nothing is answered as `noop` and causes nothing. */
  noop: boolean;
  hash_prefix: string;
  /** `config.meta` is there before the first write. */
  meta_at_start: boolean;
  /** How long agents.* calls go on working with the configuration as it was before a write; writes in between are lost. */
  stale_ms: number;
  restart_on: { agents: RestartRule; config_patch: RestartRule };
  /** config.patch calls per 60 s and device, failed ones counted; null is no limit. */
  patch_limit: number | null;
  issues_in_text: boolean;

  /** Keys of a heartbeat that are unknown to it. */
  refused_heartbeat_keys: readonly string[];
  accepted_files: readonly string[];
  listed_files: readonly string[];
  /** Looks after a workspace before a run and at agents.update: BOOTSTRAP.md goes, once, when others were changed. */
  clears_bootstrap: boolean;
  unknown_agent_text: (id: string) => string;
  reserved_main_text: string;
  main_is_deletable: boolean;
  /** An agent that is deleted in the middle of a run takes the whole process with it. */
  dies_of_deleting_runs: boolean;
  /** Every `agent:<id>:main` is kept, not only the main agent's. */
  main_sessions_are_kept: boolean;
  chat_needs_agent: boolean;
  reset_keeps_session_id: boolean;
}

const files = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"];

const first: Dialect = {
  protocol: 3,
  max_payload: 512 * 1024,
  nonce_required: false,
  signature_skew_ms: 600_000,
  detailed_errors: false,
  empty_scopes_are_admin: true,
  read_covers_configuration: false,
  scope_error_code: "INVALID_REQUEST",
  pairing_text: "pairing required",
  backend_is_trusted: false,
  control_ui_flag: true,
  control_ui_refusal: "control ui requires HTTPS or localhost (secure context)",
  origin_may_equal_host: true,
  agents: "list",
  list_patch: "replace",
  noop: false,
  hash_prefix: "",
  meta_at_start: false,
  stale_ms: 0,
  restart_on: { agents: "after_answer", config_patch: "after_answer" },
  patch_limit: null,
  issues_in_text: false,
  refused_heartbeat_keys: [],
  accepted_files: [...files, "memory.md"],
  listed_files: files,
  clears_bootstrap: false,
  unknown_agent_text: () => "unknown agent id",
  reserved_main_text: '"main" is reserved',
  main_is_deletable: false,
  dies_of_deleting_runs: true,
  main_sessions_are_kept: false,
  chat_needs_agent: false,
  reset_keeps_session_id: false,
};

const february: Dialect = {
  ...first,
  max_payload: 25 * 1024 * 1024,
  nonce_required: true,
  signature_skew_ms: 120_000,
  detailed_errors: true,
  empty_scopes_are_admin: false,
  read_covers_configuration: true,
  control_ui_refusal: "control ui requires device identity (use HTTPS or localhost secure context)",
  origin_may_equal_host: false,
  list_patch: "by_id",
  stale_ms: 500,
  restart_on: { agents: "never", config_patch: "after_answer" },
  patch_limit: 3,
};

const may: Dialect = {
  ...february,
  pairing_text: "pairing required: device is not approved yet",
  backend_is_trusted: true,
  noop: true,
  stale_ms: 0,
  restart_on: { agents: "never", config_patch: "before_answer" },
  issues_in_text: true,
  accepted_files: files,
  chat_needs_agent: true,
};

const september: Dialect = {
  ...may,
  protocol: 4,
  scope_error_code: "FORBIDDEN",
  control_ui_flag: false,
  agents: "entries",
  hash_prefix: "hmac-sha256:v1:",
  meta_at_start: true,
  restart_on: { agents: "never", config_patch: "never" },
  patch_limit: 30,
  refused_heartbeat_keys: ["includeReasoning"],
  accepted_files: ["AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md"],
  listed_files: ["AGENTS.md", "SOUL.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md"],
  clears_bootstrap: true,
  unknown_agent_text: (id) => `agent "${id}" not found`,
  reserved_main_text: 'agent "main" already exists',
  main_is_deletable: true,
  dies_of_deleting_runs: false,
  main_sessions_are_kept: true,
  reset_keeps_session_id: true,
};

export const dialects: Record<DialectName, Dialect> = {
  "2026.2.9": first,
  "2026.2.26": february,
  "2026.5.7": may,
  "2026.9.6": september,
};
