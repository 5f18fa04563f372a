import type { AgentHints } from "../../endpoint.ts";

type Own = Pick<AgentHints, "intent" | "when_to_use" | "routing_policy"> & Partial<AgentHints>;

/** Hints for an operation that every agent may call; what is not said is the plain case of a read. */
export function hints(own: Own): AgentHints {
  return {
    roles: ["main", "lead", "worker"],
    required_actor: "any_agent",
    when_not_to_use: ["The same answer was read in this turn and nothing has changed since"],
    prerequisites: ["A valid agent token in X-Agent-Token"],
    side_effects: ["None beyond the agent being seen online"],
    negative_guidance: ["Do not guess ids: take them from an earlier answer or from TOOLS.md"],
    examples: [{ input: { intent: own.intent }, decision: own.when_to_use[0]! }],
    ...own,
  };
}
