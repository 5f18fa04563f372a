import { endpoints } from "@board/api/groups";
import { isMentioned, mentionsOf } from "@board/core/agent/mention";
import { handleOf } from "@board/core/template/blocks";
import { type AgentRole, FILES, type FileName, PRESERVED, roleOf } from "@board/core/template/files";
import { renderFiles } from "@board/core/template/render";
import { describe, expect, test } from "vitest";
import { filesOf, IDS, OPTIONS, ROLES, subjectOf } from "./support/template-subject.ts";

const files = Object.fromEntries(ROLES.map((role) => [role, filesOf(subjectOf(role))])) as Record<
  AgentRole,
  Record<FileName, string>
>;

test("each role gets its files, the token first and what hosts may refuse last", () => {
  const names = (role: AgentRole) => renderFiles(subjectOf(role), OPTIONS).map(({ name }) => name);
  const board = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"];
  expect(names("lead")).toEqual([...board, "AGENTS.md", "ROLES.md"]);
  expect(names("worker")).toEqual(board);
  expect(names("main")).toEqual(board.slice(0, 4));
  for (const role of ROLES) expect(names(role)).toEqual(FILES[role]);
  expect([...PRESERVED].toSorted()).toEqual(["LEARNINGS.md", "MEMORY.md", "USER.md"]);
});

test("the role of an agent follows from its board", () => {
  expect(roleOf({ board_id: null, is_board_lead: false })).toBe("main");
  expect(roleOf({ board_id: IDS.board, is_board_lead: true })).toBe("lead");
  expect(roleOf({ board_id: IDS.board, is_board_lead: false })).toBe("worker");
});

/** Characters that an agent pays for; the hosts' own limit is 20 000 for a file. */
const BUDGETS: Record<FileName, number> = {
  "TOOLS.md": 4_000,
  "SOUL.md": 1_500,
  "IDENTITY.md": 1_000,
  "USER.md": 1_000,
  "MEMORY.md": 1_000,
  "HEARTBEAT.md": 4_500,
  "BOOTSTRAP.md": 2_000,
  "AGENTS.md": 5_000,
  "ROLES.md": 2_000,
  "LEARNINGS.md": 0,
};
/** The duties of a main agent stand in its TOOLS.md. */
const MAIN_TOOLS = 5_000;

test.each(ROLES)("the files of a %s are as short as an agent can afford, also all in one", (role) => {
  for (const [name, content] of Object.entries(files[role]))
    expect(content.length, name).toBeLessThanOrEqual(
      role === "main" && name === "TOOLS.md" ? MAIN_TOOLS : BUDGETS[name as FileName],
    );
  const { "TOOLS.md": tools, "HEARTBEAT.md": heartbeat, "ROLES.md": roles, "AGENTS.md": agents } = files[role];
  expect([tools, heartbeat, roles, agents].join("").length).toBeLessThanOrEqual(20_000);
});

test("paths stand where a command needs one, and nowhere else", () => {
  const found = Object.fromEntries(
    ROLES.flatMap((role) =>
      Object.entries(files[role]).map(([name, text]) => [`${role} ${name}`, text.match(/\/api\/[\w/{}-]+/g) ?? []]),
    ).filter(([, paths]) => paths!.length > 0),
  );
  expect(found).toEqual({
    "lead HEARTBEAT.md": ["/api/v1/agent"],
    "lead BOOTSTRAP.md": ["/api/v1/agent/heartbeat"],
    "worker HEARTBEAT.md": ["/api/v1/agent"],
    "worker BOOTSTRAP.md": ["/api/v1/agent/heartbeat"],
    "main TOOLS.md": ["/api/v1/agent/heartbeat"],
  });
});

const OF_ALL = [
  "agent_auth_health",
  "agent_board_discovery",
  "agent_board_lookup",
  "agent_roster_discovery",
  "agent_heartbeat",
  "agent_board_onboarding_update",
];
const OF_BOARD_AGENTS = [
  "agent_board_task_discovery",
  "agent_task_update",
  "agent_task_delete",
  "agent_task_comment_discovery",
  "agent_task_comment_create",
  "agent_board_memory_discovery",
  "agent_board_memory_record",
  "agent_board_approval_discovery",
  "agent_board_approval_request",
  "agent_board_tag_discovery",
  "agent_board_webhook_payload_read",
  "agent_board_soul_lookup",
  "agent_board_group_memory_discovery",
  "agent_board_group_memory_record",
  "agent_board_group_memory_stream",
];
/** Intents by role (contract agents.md §9). A main agent also reads and writes the memory of its gateway's boards. */
const INTENTS: Record<AgentRole, string[]> = {
  lead: [
    ...OF_ALL,
    ...OF_BOARD_AGENTS,
    "delegate_work",
    "agent_management",
    "agent_lifecycle",
    "agent_coordination",
    "agent_knowledge_authoring",
    "human_escalation",
  ],
  worker: [...OF_ALL, ...OF_BOARD_AGENTS],
  main: [...OF_ALL, "lead_direct_routing", "lead_broadcast_routing", "agent_board_memory_discovery", "agent_board_memory_record"],
};
const ANY_INTENT = new Set(Object.values(INTENTS).flat());
const LOOK_LIKE_ONE = /\b(?:agent|lead)_[a-z_]+\b/g;
const NO_INTENTS = new Set(["agent_id", "lead_reply"]);

test.each(ROLES)("every operation that the files of a %s name is one that it may call", (role) => {
  const text = Object.values(files[role]).join("\n");
  const named = new Set([
    ...[...ANY_INTENT].filter((intent) => text.includes(intent)),
    ...(text.match(LOOK_LIKE_ONE) ?? []).filter((word) => !NO_INTENTS.has(word)),
  ]);
  expect(named.size).toBeGreaterThan(3);
  expect([...named].filter((intent) => !INTENTS[role].includes(intent))).toEqual([]);
  for (const { spec, paths } of endpoints.filter((one) => named.has(one.spec.agent?.intent ?? "")))
    expect(role === "main" || spec.agent!.roles.includes(role), paths[0]).toBe(true);
});

describe("handles", () => {
  const named = (name: string, is_board_lead = false) => ({ name, is_board_lead });
  test.each([
    [named("Grace"), "@grace"],
    [named("Linus the Reviewer"), "@linus"],
    [named("Éva-2 Müller"), "@éva-2"],
    [named("Whoever", true), "@lead"],
    [named("42 Writer"), null],
    [named("O'Brien"), null],
    [named("Lead Helper"), null],
    [named("All"), null],
    [named("A".repeat(32)), `@${"a".repeat(32)}`],
    [named("A".repeat(33)), null],
  ])("of %o is %s, and it mentions that agent", (agent, handle) => {
    expect(handleOf(agent)).toBe(handle);
    expect(isMentioned(agent, mentionsOf(`Please ${handle}, look.`))).toBe(handle !== null);
  });
});

test("lines about things that are not there are left out", () => {
  const bare = { identity_profile: null };
  const identity = filesOf(subjectOf("worker", { agent: bare }))["IDENTITY.md"];
  expect(identity).toContain("- Role: Generalist\n- Style: direct, concise, practical\n- Emoji: :gear:\n\nPeople set this");
  const unknown = filesOf(subjectOf("worker", { user: null }))["USER.md"];
  expect(unknown).not.toMatch(/Name|Notes|Background|^- /m);
  const goal = { objective: null, success_metrics: null, target_date: null };
  const agents = filesOf(subjectOf("lead", { board: goal }))["AGENTS.md"];
  expect(agents).not.toMatch(/Target date|The objective|\n\n\n/);
  expect(agents).toContain("Success metrics: {}");
});

test("keys of a profile that have no place of their own are told as well", () => {
  const identity_profile = { role: "Tester", expertise: "Browsers,\nmostly" };
  expect(filesOf(subjectOf("worker", { agent: { identity_profile } }))["IDENTITY.md"]).toContain(
    "\n- expertise: Browsers, mostly\n",
  );
});

test.each([
  ["ask_first", "- In practice: propose, and act once somebody agreed\n"],
  ["autonomous", "- In practice: decide and report; board rules and approvals still hold\n"],
  ["whenever it rains", ""],
  ["constructor", ""],
])("the autonomy level %s is put into words when there are any", (autonomy_level, words) => {
  expect(filesOf(subjectOf("lead", { agent: { identity_profile: { autonomy_level } } }))["IDENTITY.md"]).toContain(
    `- Autonomy: ${autonomy_level}\n${words}\nPeople set this`,
  );
});
