import { admin, member } from "@board/core/actor";
import { pageOf, pageQuery } from "@board/core/page";
import { CreateTag, createTag, getTag, listTags, removeTag, Tag, UpdateTag, updateTag } from "@board/core/tag/tag";
import { Ok, ok } from "@board/core/wire";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";

const both = ["/api/tags", "/api/v1/tags"] as const;
const one = under(both, "/{tag_id}");

/** Labels for tasks. This file is the pattern for every other resource. */
export const tags = [
  endpoint(
    "GET",
    "/api/tags",
    { as: member, summary: "List tags", query: pageQuery(50, 100), returns: z.array(Tag) },
    async (ctx, { query }) => (await listTags(ctx, query)).items,
  ),
  endpoint(
    "GET",
    "/api/v1/tags",
    { as: member, summary: "List tags by page", query: pageQuery(), returns: pageOf(Tag) },
    (ctx, { query }) => listTags(ctx, query),
  ),
  endpoint("POST", both, { as: admin, summary: "Create a tag", errors: [409], body: CreateTag, returns: Tag }, (ctx, { body }) =>
    createTag(ctx, body),
  ),
  endpoint("GET", one, { as: member, summary: "Get a tag", returns: Tag }, (ctx, { params }) => getTag(ctx, params.tag_id)),
  endpoint(
    "PATCH",
    one,
    {
      as: admin,
      summary: "Change a tag",
      errors: [409],
      description: "Renaming alone keeps the slug; a blank slug is made from the name again.",
      reaches: (ctx, params) => getTag(ctx, params.tag_id),
      body: UpdateTag,
      returns: Tag,
    },
    (ctx, { params, body }) => updateTag(ctx, params.tag_id, body),
  ),
  endpoint("DELETE", one, { as: admin, summary: "Delete a tag", returns: Ok }, async (ctx, { params }) => {
    await removeTag(ctx, params.tag_id);
    return ok;
  }),
];
