import type { RedundantCondition } from "./redundant-conditions.ts";

export const OWN_AGENT = "its value comes from the calling agent, whose board belongs to its organization";
const AGENT_SEARCH = "GET /api/v1/agents?q";

/** Redundant conditions of lists with `q`: the search itself compares the owner of each word. */
export const REDUNDANT_SEARCH_CONDITIONS: readonly RedundantCondition[] = [
  {
    condition: '"boards"."organization_id" = $',
    within: '("boards"."organization_id" = $ and "boards"."id" = $)',
    operation: "GET /api/v1/agent/agents?q",
    because: OWN_AGENT,
  },
  {
    condition: '"boards"."organization_id" = $',
    within: '("boards"."organization_id" = $ and "boards"."id" = $)',
    operation: "GET /api/v1/agent/boards?q",
    because: OWN_AGENT,
  },
  {
    condition: '"gateways"."organization_id" = $',
    within: 'select "id" from "gateways" where "gateways"."organization_id" = $',
    operation: AGENT_SEARCH,
    because: "it only says whose words are searched: the list compares the organization again",
  },
  {
    condition: '"gateways"."organization_id" = $',
    within: "@@ (select lower($::text)::tsquery)",
    operation: AGENT_SEARCH,
    because: "a main agent is found by the words of its gateway, and only gateways of the organization are searched",
  },
];
