import { admin } from "@board/core/actor";
import { InstallQuery, installSkill, SkillInstallation, uninstallSkill } from "@board/core/skill/install";
import { listSkills, SkillsQuery } from "@board/core/skill/marketplace";
import { getSkill, RegisterSkill, registerSkill, removeSkill, SkillCard } from "@board/core/skill/skill";
import { Ok, ok } from "@board/core/wire";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";
import { json } from "../errors.ts";

const both = ["/api/skills/marketplace", "/api/v1/skills/marketplace"] as const;
const one = under(both, "/{skill_id}");

/** Skills that gateways can install. */
export const skills = [
  endpoint(
    "GET",
    both,
    {
      as: admin,
      summary: "List skills",
      errors: [404],
      description: "Newest first. With `limit`, the headers X-Total-Count, X-Limit and X-Offset tell where the page stands.",
      query: SkillsQuery,
      returns: z.array(SkillCard),
    },
    async (ctx, { query }) => {
      const { cards, page } = await listSkills(ctx, query);
      if (!page) return cards;
      const headers = { "X-Total-Count": page.total, "X-Limit": page.limit, "X-Offset": page.offset };
      return json(cards, 200, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])));
    },
  ),
  endpoint(
    "POST",
    both,
    {
      as: admin,
      summary: "Register a skill",
      description: "A url that is registered already gives that skill, with the name and the description that were sent.",
      body: RegisterSkill,
      returns: SkillCard,
    },
    (ctx, { body }) => registerSkill(ctx, body),
  ),
  endpoint(
    "DELETE",
    one,
    { as: admin, summary: "Delete a skill", description: "Hosts that have it keep it.", returns: Ok },
    async (ctx, { params }) => {
      await removeSkill(ctx, params.skill_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    under(one, "/install"),
    {
      as: admin,
      summary: "Have a skill installed",
      errors: [502],
      description:
        "Tells the gateway's main agent to install it or to bring it up to date. 502 when its host does not take that.",
      reaches: (ctx, params) => getSkill(ctx, params.skill_id),
      query: InstallQuery,
      returns: SkillInstallation,
    },
    (ctx, { params, query }) => installSkill(ctx, params.skill_id, query.gateway_id),
  ),
  endpoint(
    "POST",
    under(one, "/uninstall"),
    {
      as: admin,
      summary: "Have a skill uninstalled",
      errors: [502],
      description: "Tells the gateway's main agent to remove it. 502 when its host does not take that.",
      reaches: (ctx, params) => getSkill(ctx, params.skill_id),
      query: InstallQuery,
      returns: SkillInstallation,
    },
    (ctx, { params, query }) => uninstallSkill(ctx, params.skill_id, query.gateway_id),
  ),
];
