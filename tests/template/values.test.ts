import { VARIABLE_NAMES } from "@board/openclaw/template/values";
import { describe, expect, test } from "vitest";
import { type SubjectChanges, filesOf, IDS, OPTIONS, ROLES, subjectOf } from "./subject-fixture.ts";

type Values = Record<string, string>;

/** Returns the values of the variables for a subject, rendered through a custom IDENTITY.md. */
function valuesOf(role: (typeof ROLES)[number], changes: SubjectChanges = {}, names: readonly string[] = VARIABLE_NAMES): Values {
  const subject = subjectOf(role, changes);
  const identity_template = names.map((name) => `<${name}>{{ ${name} }}</${name}>`).join("\n");
  const text = filesOf({ ...subject, agent: { ...subject.agent, identity_template } }, { role_soul: SOUL })["IDENTITY.md"];
  return Object.fromEntries([...text.matchAll(/<(\w+)>([^]*?)<\/\1>/g)].map((match) => [match[1]!, match[2]!]));
}
const SOUL = { markdown: "# Careful", source_url: "https://souls.example/a/b" };

const OF_THE_LEAD: Values = {
  agent_name: "Ada Lovelace",
  agent_id: IDS.lead,
  session_key: `agent:lead-${IDS.board}:main`,
  workspace_path: `~/agents/workspace-lead-${IDS.board}`,
  workspace_root: "~/agents/",
  base_url: OPTIONS.base_url,
  auth_token: "{{ auth_token }}",
  board_id: IDS.board,
  board_name: "Releases",
  board_objective: "Ship the first version to ten pilot customers,\nwithout an incident that a customer notices.",
  is_board_lead: "true",
  user_name: "Samantha Jones",
  user_timezone: "Europe/Berlin",
  main_session_key: `agent:mc-gateway-${IDS.gateway}:main`,
  is_main_agent: "false",
  board_type: "goal",
  board_success_metrics: '{"pilot_customers":10,"max_open_incidents":0}',
  board_target_date: "2030-06-30T00:00:00.000Z",
  board_goal_confirmed: "true",
  board_rule_require_approval_for_done: "true",
  board_rule_require_review_before_done: "false",
  board_rule_comment_required_for_review: "true",
  board_rule_block_status_changes_with_pending_approval: "false",
  board_rule_only_lead_can_change_status: "false",
  board_rule_max_agents: "5",
  user_preferred_name: "Sam",
  user_pronouns: "she/her",
  user_notes: "Prefers short updates in the morning.\nReads them on the phone.",
  user_context: "Runs the product team of a small company that makes tools for bakeries.",
  identity_role: "Backend Engineer",
  identity_communication_style: "friendly, precise",
  identity_emoji: ":wrench:",
  identity_autonomy_level: "balanced",
  identity_verbosity: "concise",
  identity_output_format: "bullets",
  identity_update_cadence: "daily",
  identity_purpose: "Keeps the release pipeline green",
  identity_personality: "Curious and patient",
  identity_custom_instructions: "Ask before spending money.\nWrite commit messages in English.",
  directory_role_soul_markdown: "# Careful",
  directory_role_soul_source_url: "https://souls.example/a/b",
};

test("every variable of the context is available, with the values of the agent, its board, its user and its profile", () => {
  expect(valuesOf("lead")).toEqual(OF_THE_LEAD);
  expect(VARIABLE_NAMES.toSorted()).toEqual(Object.keys(OF_THE_LEAD).toSorted());
});

test("a worker differs from a lead by its workspace and its wording", () => {
  expect(valuesOf("worker")).toMatchObject({
    session_key: `agent:mc-${IDS.worker}:main`,
    workspace_path: `~/agents/workspace-mc-${IDS.worker}`,
    board_id: IDS.board,
    is_board_lead: "false",
    is_main_agent: "false",
  });
});

test("a main agent has no board, and the variables of a board are empty", () => {
  const values = valuesOf("main");
  expect(values).toMatchObject({
    session_key: `agent:mc-gateway-${IDS.gateway}:main`,
    main_session_key: `agent:mc-gateway-${IDS.gateway}:main`,
    workspace_path: `~/agents/workspace-gateway-${IDS.gateway}`,
    is_board_lead: "false",
    is_main_agent: "true",
  });
  const ofBoards = VARIABLE_NAMES.filter((name) => name.startsWith("board_"));
  expect(ofBoards.length).toBe(13);
  expect(ofBoards.map((name) => values[name])).toEqual(ofBoards.map(() => ""));
});

test("a board without a goal gives empty text, and an empty object for the metrics", () => {
  const none = { objective: null, success_metrics: null, target_date: null, goal_confirmed: false };
  expect(valuesOf("lead", { board: none })).toMatchObject({
    board_objective: "",
    board_success_metrics: "{}",
    board_target_date: "",
    board_goal_confirmed: "false",
  });
});

test.each([
  ["require_approval_for_done", "board_rule_require_approval_for_done"],
  ["require_review_before_done", "board_rule_require_review_before_done"],
  ["comment_required_for_review", "board_rule_comment_required_for_review"],
  ["block_status_changes_with_pending_approval", "board_rule_block_status_changes_with_pending_approval"],
  ["only_lead_can_change_status", "board_rule_only_lead_can_change_status"],
])("the rule %s is rendered as the word true or false", (rule, name) => {
  for (const on of [true, false]) {
    expect(valuesOf("lead", { board: { [rule]: on } })[name]).toBe(String(on));
    expect(filesOf(subjectOf("lead", { board: { [rule]: on } }))["HEARTBEAT.md"]).toContain(`${rule} (${on})`);
  }
});

describe("the variables of the user", () => {
  type Known = [preferred_name: string | null, name: string | null, email: string | null];
  const named = ([preferred_name, name, email]: Known) => {
    const { user_name, user_preferred_name } = valuesOf("worker", { user: { preferred_name, name, email } });
    return [user_name, user_preferred_name];
  };
  test.each<[string, Known, [user_name: string, user_preferred_name: string]]>([
    ["a preferred name of several words", ["Sam the Great", "Samantha Jones", "s@example.com"], ["Samantha Jones", "Sam"]],
    ["no preferred name", [null, "Samantha Jones", "s@example.com"], ["Samantha Jones", "Samantha"]],
    ["a blank preferred name", [" ", " Samantha Jones", null], ["Samantha Jones", "Samantha"]],
    ["an e-mail address alone", [null, null, "s.jones@example.com"], ["s.jones@example.com", "s.jones"]],
    ["a blank name", [null, "  ", "s@example.com"], ["s@example.com", "s"]],
    ["nothing", [null, null, null], ["", ""]],
  ])("a user with %s has the expected names", (_what, known, expected) => {
    expect(named(known)).toEqual(expected);
  });

  test("without a user every variable of the user is empty", () => {
    const values = valuesOf("worker", { user: null });
    const ofUsers = VARIABLE_NAMES.filter((name) => name.startsWith("user_"));
    expect(ofUsers.map((name) => values[name])).toEqual(ofUsers.map(() => ""));
  });
});

describe("the identity of an agent", () => {
  const DEFAULTS = {
    identity_role: "Generalist",
    identity_communication_style: "direct, concise, practical",
    identity_emoji: ":gear:",
    identity_autonomy_level: "",
    identity_verbosity: "",
    identity_output_format: "",
    identity_update_cadence: "",
    identity_purpose: "",
    identity_personality: "",
    identity_custom_instructions: "",
  };
  test.each([
    ["no profile", null],
    ["an empty profile", {}],
    ["blank values", { role: " ", communication_style: "", emoji: "\t" }],
  ])("an agent with %s has the default identity", (_what, identity_profile) => {
    expect(valuesOf("worker", { agent: { identity_profile } })).toMatchObject(DEFAULTS);
  });

  test("one value in the profile replaces that value and leaves the other defaults", () => {
    const values = valuesOf("worker", { agent: { identity_profile: { role: "Tester" } } });
    expect(values).toMatchObject({ ...DEFAULTS, identity_role: "Tester" });
  });

  test("every further key of the profile that is a valid name becomes a variable", () => {
    const profile = { favourite_tool_2: "sed", "Bad Key": "x", UPPER: "y", "dash-ed": "z", __proto: "p" };
    const names = ["identity_favourite_tool_2", "identity_Bad Key", "identity_UPPER", "identity_dash-ed", "identity___proto"];
    const identity_template = names.map((name) => `{{ ${name} }}`).join("|");
    const text = filesOf(subjectOf("worker", { agent: { identity_profile: profile, identity_template } }))["IDENTITY.md"];
    expect(text).toBe("sed|{{ identity_Bad Key }}|{{ identity_UPPER }}|{{ identity_dash-ed }}|p");
  });

  test("property names of JavaScript objects are not variables", () => {
    const identity_template = "{{ constructor }} {{ __proto__ }} {{ to_string }} {{ identity_constructor }}";
    expect(filesOf(subjectOf("worker", { agent: { identity_template } }))["IDENTITY.md"]).toBe(identity_template);
  });
});

test.each([
  ["/srv/agents", "/srv/agents/workspace-"],
  ["/srv/agents///", "/srv/agents/workspace-"],
  ["~/agents", "~/agents/workspace-"],
  ["C:\\agents", "C:\\agents/workspace-"],
])("the workspace below the root %s starts with %s", (workspace_root, start) => {
  expect(valuesOf("worker", { gateway: { workspace_root } })["workspace_path"]).toBe(`${start}mc-${IDS.worker}`);
});
