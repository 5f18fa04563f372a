import type { RedundantCondition } from "./redundant-conditions.ts";

const OF_PERSON = '"api_keys"."owner_member_id" = $';
const OWN_KEY = "the owner of a personal key, which is also compared, is a membership of its organization";

/** Redundant conditions of keys. */
export const REDUNDANT_KEY_CONDITIONS: readonly RedundantCondition[] = [
  {
    condition: '"api_keys"."organization_id" = $',
    within: `where ("api_keys"."organization_id" = $ and ${OF_PERSON}) order by`,
    because: OWN_KEY,
  },
  {
    condition: '"api_keys"."organization_id" = $',
    within: `where ("api_keys"."id" = $ and "api_keys"."organization_id" = $ and ${OF_PERSON})`,
    because: OWN_KEY,
  },
  {
    condition: '"api_keys"."organization_id" = $',
    within: 'select "board_ids" from "api_keys"',
    because: "the id is the calling key's, which acts only in its organization",
  },
];
