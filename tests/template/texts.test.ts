import { endpoints } from "@board/api/groups";
import { hintsOf } from "@board/api/guidance/hints";
import { isMentioned, parseMentions } from "@board/core/values/mention";
import { toHandle } from "@board/openclaw/template/text-values";
import { type AgentRole, ROLE_FILES, type FileName, PRESERVED_FILES, toRole } from "@board/openclaw/template/files";
import { renderFiles } from "@board/openclaw/template/render";
import { describe, expect, test } from "vitest";
import { filesOf, IDS, OPTIONS, ROLES, subjectOf } from "./subject-fixture.ts";

const files = Object.fromEntries(ROLES.map((role) => [role, filesOf(subjectOf(role))])) as Record<
  AgentRole,
  Record<FileName, string>
>;

test("each role gets its files, the token first and the files that hosts may refuse last", () => {
  const names = (role: AgentRole) => renderFiles(subjectOf(role), OPTIONS).map(({ name }) => name);
  const board = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"];
  expect(names("lead")).toEqual([...board, "AGENTS.md", "ROLES.md"]);
  expect(names("worker")).toEqual(board);
  expect(names("main")).toEqual(board.slice(0, 4));
  for (const role of ROLES) expect(names(role)).toEqual(ROLE_FILES[role]);
  expect([...PRESERVED_FILES].toSorted()).toEqual(["LEARNINGS.md", "MEMORY.md", "USER.md"]);
});

test("the role of an agent follows from its board and its lead flag", () => {
  expect(toRole({ board_id: null, is_board_lead: false })).toBe("main");
  expect(toRole({ board_id: IDS.board, is_board_lead: true })).toBe("lead");
  expect(toRole({ board_id: IDS.board, is_board_lead: false })).toBe("worker");
});

/** The number of characters that an agent can afford to read. The limit of hosts is 20,000 per file. */
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
/** The limit for a main agent's TOOLS.md, which also contains the agent's duties. */
const MAIN_TOOLS = 5_000;

test.each(ROLES)("the files of a %s stay below the size that an agent can afford, even all in one file", (role) => {
  for (const [name, content] of Object.entries(files[role]))
    expect(content.length, name).toBeLessThanOrEqual(
      role === "main" && name === "TOOLS.md" ? MAIN_TOOLS : BUDGETS[name as FileName],
    );
  const { "TOOLS.md": tools, "HEARTBEAT.md": heartbeat, "ROLES.md": roles, "AGENTS.md": agents } = files[role];
  expect([tools, heartbeat, roles, agents].join("").length).toBeLessThanOrEqual(20_000);
});

test("API paths appear only where a command needs them", () => {
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
    "main TOOLS.md": ["/api/v1/agent/inbox"],
  });
});

const OF_ALL = [
  "agent_auth_health",
  "agent_board_discovery",
  "agent_board_lookup",
  "agent_roster_discovery",
  "agent_heartbeat",
  "agent_inbox",
  "agent_instructions",
  "agent_inbox_acknowledge",
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
/** Intents by role. A main agent also reads and writes the memory of the boards of its gateway. */
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

test.each(ROLES)("a %s may call every operation that its files name", (role) => {
  const text = Object.values(files[role]).join("\n");
  const named = new Set([
    ...[...ANY_INTENT].filter((intent) => text.includes(intent)),
    ...(text.match(LOOK_LIKE_ONE) ?? []).filter((word) => !NO_INTENTS.has(word)),
  ]);
  expect(named.size).toBeGreaterThan(3);
  expect([...named].filter((intent) => !INTENTS[role].includes(intent))).toEqual([]);
  for (const { spec, paths } of endpoints.filter((one) => named.has(one.spec.agent ?? "")))
    expect(role === "main" || hintsOf(spec.agent!).roles.includes(role), paths[0]).toBe(true);
});

describe("handles for mentions", () => {
  const named = (name: string, is_board_lead = false) => ({ name, is_board_lead });
  test.each([
    [named("Grace"), "@grace"],
    [named("Linus the Reviewer"), "@linus"],
    [named("Éva-2 Müller"), "@éva-2"],
    [named("Anybody", true), "@lead"],
    [named("42 Writer"), null],
    [named("O'Brien"), null],
    [named("Lead Helper"), null],
    [named("All"), null],
    [named("A".repeat(32)), `@${"a".repeat(32)}`],
    [named("A".repeat(33)), null],
  ])("the handle of %o is %s and mentions that agent", (agent, handle) => {
    expect(toHandle(agent)).toBe(handle);
    expect(isMentioned(agent, parseMentions(`Please ${handle}, look.`))).toBe(handle !== null);
  });
});

test("a file has no lines about data that is missing", () => {
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

test("profile keys that the template does not name are listed too", () => {
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
])("the autonomy level %s is explained when the level is known", (autonomy_level, words) => {
  expect(filesOf(subjectOf("lead", { agent: { identity_profile: { autonomy_level } } }))["IDENTITY.md"]).toContain(
    `- Autonomy: ${autonomy_level}\n${words}\nPeople set this`,
  );
});
