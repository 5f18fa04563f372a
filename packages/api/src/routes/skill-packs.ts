import { admin } from "@board/core/context/actor";
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
import { arrayQuery } from "@board/core/lists/page";
import { PackSynced, PackSyncRun } from "@board/core/skill/pack-sync-run";
import { getPackSync, startPackSync, syncPack } from "@board/core/skill/sync";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { ARRAY_DESCRIPTION } from "../edge/answer.ts";
import { endpoint, withPrefixes } from "../endpoint.ts";
import { acceptedResponse, prefersAsync } from "../edge/prefer.ts";

const collectionPaths = ["/api/skills/packs", "/api/v1/skills/packs"] as const;
const itemPaths = withPrefixes(collectionPaths, "/{pack_id}");
const syncPaths = withPrefixes(itemPaths, "/sync");

/** Skill packs: repositories of skills. */
export const skillPacks = [
  endpoint(
    "GET",
    collectionPaths,
    { as: admin, summary: "List skill packs", description: ARRAY_DESCRIPTION, query: arrayQuery, returns: z.array(SkillPack) },
    (ctx, { query }) => listPacks(ctx, query),
  ),
  endpoint(
    "POST",
    collectionPaths,
    {
      as: admin,
      summary: "Register a skill pack",
      description: "If the repository is registered already, updates that pack with the given fields and keeps the others.",
      body: CreatePack,
      returns: SkillPack,
    },
    (ctx, { body }) => createPack(ctx, body),
  ),
  endpoint("GET", itemPaths, { as: admin, summary: "Get a skill pack", returns: SkillPack }, (ctx, { params }) =>
    getPack(ctx, params.pack_id),
  ),
  endpoint(
    "PATCH",
    itemPaths,
    {
      as: admin,
      summary: "Replace a skill pack",
      errors: [409],
      description: "Omitted fields are reset to their defaults. Skills are unchanged until the next sync.",
      authorize: (ctx, params) => getPack(ctx, params.pack_id),
      body: ReplacePack,
      returns: SkillPack,
    },
    (ctx, { params, body }) => replacePack(ctx, params.pack_id, body),
  ),
  endpoint(
    "DELETE",
    itemPaths,
    { as: admin, summary: "Delete a skill pack", description: "Its skills are kept.", returns: Ok },
    async (ctx, { params }) => {
      await removePack(ctx, params.pack_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    syncPaths,
    {
      as: admin,
      summary: "Sync a skill pack",
      calls_out: true,
      errors: [502],
      description:
        "Adds and updates the skills of the repository in the marketplace; skills are never removed. Returns 422 if the repository is too large, 502 if the code host fails. Returns 202 with the run, and its address in Location, if the sync takes longer than 20 s, if another sync of the pack is running, or if the request has `Prefer: respond-async`.",
      authorize: (ctx, params) => getPack(ctx, params.pack_id),
      returns: PackSynced,
      accepted: PackSyncRun,
    },
    async (ctx, { params: { pack_id }, http }) => {
      const is_async = prefersAsync(http.headers);
      const result = await (is_async ? startPackSync : syncPack)(ctx, pack_id);
      return "run_id" in result ? acceptedResponse(result, syncPaths[1].replace("{pack_id}", pack_id), is_async) : result;
    },
  ),
  endpoint(
    "GET",
    withPrefixes(syncPaths, "/{run_id}"),
    {
      as: admin,
      summary: "Get a sync of a skill pack",
      description: "Returns the progress of a sync that continues in the background. Runs are kept for a week.",
      returns: PackSyncRun,
    },
    (ctx, { params }) => getPackSync(ctx, params.pack_id, params.run_id),
  ),
];
