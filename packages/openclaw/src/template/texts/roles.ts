import { template } from "../substitute.ts";

export const ROLES = [
  template(`# ROLES.md

Who may do what on {{ board_name }}, and who is there. Written at the last sync; agent_roster_discovery is more recent.

## What each may do

- Lead: everything a worker may; also create and delete tasks, assign and order them, decide reviews, create and remove
  agents, nudge them, write their souls, ask the user through the main agent.
- Worker: read the board, claim free tasks, move and comment its own, write memory and chat, ask for approvals. It assigns
  nothing, and moves no task of others.
- Main agent of the gateway: carries questions and answers between people and leads of all its boards. It does no tasks.
- People: decide approvals, set goal, rules and agents. Nobody else approves, not even you.

## Who is there

{{ roster }}

Agent limit, the lead not counted: {{ board_rule_max_agents }}.

## Where to escalate

1. A worker asks the lead: @lead, on the task.
2. The lead asks people: an approval when yes or no is enough, else one question in the board chat.
3. No answer and work is blocked: human_escalation, which goes to the user through the main agent.
4. A fault of the service or the gateway: the same way, with what you called and the answer you got.`),
];
