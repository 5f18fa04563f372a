import { type AgentHints, ID_GUIDANCE } from "../../endpoint.ts";

type HintOverrides = Pick<AgentHints, "intent" | "when_to_use" | "routing_policy"> & Partial<AgentHints>;

/** Completes the hints of an operation. The defaults fit a read that every agent may call. */
export function agentHints(overrides: HintOverrides): AgentHints {
  return {
    roles: ["main", "lead", "worker"],
    required_actor: "any_agent",
    when_not_to_use: ["You read the same data earlier in this turn and nothing has changed since"],
    prerequisites: ["A valid agent token in X-Agent-Token"],
    side_effects: ["None, except that the agent is shown as online"],
    negative_guidance: [ID_GUIDANCE],
    examples: [{ input: { intent: overrides.intent }, decision: overrides.when_to_use[0]! }],
    ...overrides,
  };
}
