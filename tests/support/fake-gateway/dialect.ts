/** Releases of OpenClaw whose behaviour was observed. All differences between them are in this file. */
export type DialectName = "2026.2.9" | "2026.2.26" | "2026.5.7" | "2026.9.6";

/** Whether a configuration write restarts the host, and whether the restart comes before or after the response. */
type RestartRule = "never" | "after_answer" | "before_answer";

export interface Dialect {
  protocol: 3 | 4;
  max_payload: number;
  nonce_required: boolean;
  signature_skew_ms: number;
  /** Errors have `details` with machine-readable codes. */
  detailed_errors: boolean;
  /** A client that requests no scopes gets all of them. */
  empty_scopes_are_admin: boolean;
  /** Reading files and configuration only needs `operator.read`. */
  read_covers_configuration: boolean;
  scope_error_code: "INVALID_REQUEST" | "FORBIDDEN";
  pairing_text: string;
  /** A backend on loopback with the shared token needs no pairing. */
  backend_is_trusted: boolean;
  /** The setting that allows a control UI without a device exists. */
  control_ui_flag: boolean;
  control_ui_refusal: string;
  /** An Origin that equals the Host header is accepted for every host name. */
  origin_may_equal_host: boolean;

  agents: "list" | "entries";
  list_patch: "replace" | "by_id";
  /** A patch that changes nothing returns `noop` and has no effect. */
  answers_noop: boolean;
  hash_prefix: string;
  /** `config.meta` exists before the first write. */
  meta_at_start: boolean;
  /** Milliseconds for which agents.* calls still use the configuration from before a write. Writes in between are lost. */
  stale_ms: number;
  restart_on: { agents: RestartRule; config_patch: RestartRule };
  /** config.patch calls per 60 s and device, including failed ones; null for no limit. */
  patch_limit: number | null;
  issues_in_text: boolean;

  /** Keys of a heartbeat that this release does not know. */
  refused_heartbeat_keys: readonly string[];
  /** Skips the heartbeats of agents that no channel has reached, unless their target is `none`. */
  routes_heartbeats: boolean;
  accepted_files: readonly string[];
  listed_files: readonly string[];
  /** Before a run and at agents.update, deletes BOOTSTRAP.md if SOUL.md or USER.md has been changed. */
  deletes_bootstrap: boolean;
  unknown_agent_text: (id: string) => string;
  reserved_main_text: string;
  main_is_deletable: boolean;
  /** Deleting an agent during a run crashes the whole process. */
  crashes_on_delete_during_run: boolean;
  /** No `agent:<id>:main` session can be deleted. Other releases protect only the main agent's session. */
  keeps_all_main_sessions: boolean;
  chat_requires_agent: boolean;
  reset_keeps_session_id: boolean;
  /** Obeys directives in the middle of other text. Otherwise they are only removed from the text. */
  obeys_inline_directives: boolean;
  /** A backslash and an n in a message become a line break before the message is parsed. */
  unescapes_newlines: boolean;
  /** The agent gets a message as a single line. */
  joins_lines: boolean;
  /** `$name` in a text makes the agent use the skill of that name. */
  skill_references: boolean;
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
  answers_noop: false,
  hash_prefix: "",
  meta_at_start: false,
  stale_ms: 0,
  restart_on: { agents: "after_answer", config_patch: "after_answer" },
  patch_limit: null,
  issues_in_text: false,
  refused_heartbeat_keys: [],
  routes_heartbeats: false,
  accepted_files: [...files, "memory.md"],
  listed_files: files,
  deletes_bootstrap: false,
  unknown_agent_text: () => "unknown agent id",
  reserved_main_text: '"main" is reserved',
  main_is_deletable: false,
  crashes_on_delete_during_run: true,
  keeps_all_main_sessions: false,
  chat_requires_agent: false,
  reset_keeps_session_id: false,
  obeys_inline_directives: false,
  unescapes_newlines: true,
  joins_lines: true,
  skill_references: false,
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
  answers_noop: true,
  stale_ms: 0,
  restart_on: { agents: "never", config_patch: "before_answer" },
  issues_in_text: true,
  accepted_files: files,
  chat_requires_agent: true,
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
  routes_heartbeats: true,
  accepted_files: ["AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md"],
  listed_files: ["AGENTS.md", "SOUL.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md"],
  deletes_bootstrap: true,
  unknown_agent_text: (id) => `agent "${id}" not found`,
  reserved_main_text: 'agent "main" already exists',
  main_is_deletable: true,
  crashes_on_delete_during_run: false,
  keeps_all_main_sessions: true,
  reset_keeps_session_id: true,
  obeys_inline_directives: true,
  unescapes_newlines: false,
  joins_lines: false,
  skill_references: true,
};

export const dialects: Record<DialectName, Dialect> = {
  "2026.2.9": first,
  "2026.2.26": february,
  "2026.5.7": may,
  "2026.9.6": september,
};
