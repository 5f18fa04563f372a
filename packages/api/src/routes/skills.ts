import { admin } from "@board/core/context/actor";
import { InstallQuery, installSkill, SkillInstallation, uninstallSkill } from "@board/openclaw/skill/install";
import { listSkills, SkillsQuery } from "@board/core/skill/marketplace";
import { getSkill, RegisterSkill, registerSkill, removeSkill, SkillCard } from "@board/core/skill/skill";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { endpoint, withPrefixes } from "../endpoint.ts";
import { Answer } from "../edge/answer.ts";

const collectionPaths = ["/api/skills/marketplace", "/api/v1/skills/marketplace"] as const;
const itemPaths = withPrefixes(collectionPaths, "/{skill_id}");

/** Skills that gateways can install. */
export const skills = [
  endpoint(
    "GET",
    collectionPaths,
    {
      as: admin,
      summary: "List skills",
      errors: [404],
      description: "By name. With `limit`, the headers X-Total-Count, X-Limit and X-Offset describe the page.",
      query: SkillsQuery,
      returns: z.array(SkillCard),
    },
    async (ctx, { query }) => {
      const { cards, page } = await listSkills(ctx, query);
      if (!page) return cards;
      const headers = { "X-Total-Count": page.total, "X-Limit": page.limit, "X-Offset": page.offset };
      return new Answer(cards, 200, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])));
    },
  ),
  endpoint(
    "POST",
    collectionPaths,
    {
      as: admin,
      summary: "Register a skill",
      description: "If the URL is registered already, updates that skill with the given name and description.",
      body: RegisterSkill,
      returns: SkillCard,
    },
    (ctx, { body }) => registerSkill(ctx, body),
  ),
  endpoint(
    "DELETE",
    itemPaths,
    { as: admin, summary: "Delete a skill", description: "Hosts that have installed it keep it.", returns: Ok },
    async (ctx, { params }) => {
      await removeSkill(ctx, params.skill_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    withPrefixes(itemPaths, "/install"),
    {
      as: admin,
      summary: "Request installation of a skill",
      calls_out: true,
      errors: [502],
      description:
        "Asks the main agent of the gateway to install or update the skill. Returns 502 if its host does not accept the message.",
      authorize: (ctx, params) => getSkill(ctx, params.skill_id),
      query: InstallQuery,
      returns: SkillInstallation,
    },
    (ctx, { params, query }) => installSkill(ctx, params.skill_id, query.gateway_id),
  ),
  endpoint(
    "POST",
    withPrefixes(itemPaths, "/uninstall"),
    {
      as: admin,
      summary: "Request removal of a skill",
      calls_out: true,
      errors: [502],
      description:
        "Asks the main agent of the gateway to uninstall the skill. Returns 502 if its host does not accept the message.",
      authorize: (ctx, params) => getSkill(ctx, params.skill_id),
      query: InstallQuery,
      returns: SkillInstallation,
    },
    (ctx, { params, query }) => uninstallSkill(ctx, params.skill_id, query.gateway_id),
  ),
];
