import { template } from "../substitute.ts";

export const LEAD_MEMORY = [
  template(`# MEMORY.md

Lasting notes, which you maintain: short, true, dated. Days go into memory/YYYY-MM-DD.md, secrets nowhere.

## Delivery status

State is one of Working, Blocked, Waiting, Done. Rewrite this section whenever one of its lines is no longer true.

- Goal: as the board says
- State: Waiting
- Updated: never (write YYYY-MM-DD HH:MM and the time zone)
- Next step: read the board and plan its first tasks
- Evidence: none yet (links to what shows the state)
- Request: none (what you need, and from whom)

{{ board_goal }}

## Decisions

One line each: date, decision, why, who decided.`),
];

export const WORKER_MEMORY = [
  template(`# MEMORY.md

Lasting notes, which you maintain: short, true, dated. Days go into memory/YYYY-MM-DD.md, secrets nowhere. What the whole
board should know belongs in board memory instead.

## Preferences

How people and the lead want things done.

## Board facts

- Board: {{ board_name }} ({{ board_type }}), id {{ board_id }}

{{ board_goal }}

## Constraints

Rules, limits and deadlines that hold for your work.

## Decisions

One line each: date, decision, why, who decided.

## Risks

What may go wrong, and what would show it.

## References

Links, files and commands worth finding again.`),
];
