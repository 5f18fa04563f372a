import { admin } from "@board/core/actor";
import {
  CreatePack,
  createPack,
  getPack,
  listPacks,
  removePack,
  ReplacePack,
  replacePack,
  SkillPack,
} from "@board/core/skill/pack";
import { PackSynced, PackSyncRun } from "@board/core/skill/run";
import { getPackSync, startPackSync, syncPack } from "@board/core/skill/sync";
import { Ok, ok } from "@board/core/wire";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";
import { json } from "../errors.ts";
import { prefersAsync } from "../prefer.ts";

const both = ["/api/skills/packs", "/api/v1/skills/packs"] as const;
const one = under(both, "/{pack_id}");
const sync = under(one, "/sync");

/** Repositories of skills. */
export const skillPacks = [
  endpoint("GET", both, { as: admin, summary: "List skill packs", returns: z.array(SkillPack) }, (ctx) => listPacks(ctx)),
  endpoint(
    "POST",
    both,
    {
      as: admin,
      summary: "Register a skill pack",
      description: "A repository that is registered already gives that pack, with what was sent; what was left out stays.",
      body: CreatePack,
      returns: SkillPack,
    },
    (ctx, { body }) => createPack(ctx, body),
  ),
  endpoint("GET", one, { as: admin, summary: "Get a skill pack", returns: SkillPack }, (ctx, { params }) =>
    getPack(ctx, params.pack_id),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: admin,
      summary: "Replace a skill pack",
      errors: [409],
      description: "What is left out takes its default. Skills stay as they are until the next sync.",
      reaches: (ctx, params) => getPack(ctx, params.pack_id),
      body: ReplacePack,
      returns: SkillPack,
    },
    (ctx, { params, body }) => replacePack(ctx, params.pack_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    { as: admin, summary: "Delete a skill pack", description: "Its skills stay.", returns: Ok },
    async (ctx, { params }) => {
      await removePack(ctx, params.pack_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    sync,
    {
      as: admin,
      summary: "Sync a skill pack",
      errors: [502],
      description:
        "Brings the marketplace to what the repository has; nothing is ever removed. 422 for a repository that is too large, 502 when the code host fails. A sync that takes longer than 20 s, one while another of the pack is under way, and any with `Prefer: respond-async`, answers 202 with the run that goes on, and its address in Location.",
      reaches: (ctx, params) => getPack(ctx, params.pack_id),
      returns: PackSynced,
      later: PackSyncRun,
    },
    async (ctx, { params: { pack_id }, http }) => {
      const is_async = prefersAsync(http.headers);
      const answer = await (is_async ? startPackSync : syncPack)(ctx, pack_id);
      if (!("run_id" in answer)) return answer;
      const headers = { Location: `${sync[1].replace("{pack_id}", pack_id)}/${answer.run_id}` };
      return json(answer, 202, is_async ? { ...headers, "Preference-Applied": "respond-async" } : headers);
    },
  ),
  endpoint(
    "GET",
    under(sync, "/{run_id}"),
    {
      as: admin,
      summary: "Get a sync of a skill pack",
      description: "How far a sync is that goes on after its request. Kept for a week.",
      returns: PackSyncRun,
    },
    (ctx, { params }) => getPackSync(ctx, params.pack_id, params.run_id),
  ),
];
