import { admin, member } from "@board/core/context/actor";
import { longPageQuery, pageOf, pageQuery } from "@board/core/lists/page";
import { CreateTag, createTag, getTag, listTags, removeTag, Tag, UpdateTag, updateTag } from "@board/core/tag/tag";
import { lazyObject, Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { tagResource } from "./conditional-resources.ts";
import { endpoint, withPrefixes } from "../endpoint.ts";

const collectionPaths = ["/api/tags", "/api/v1/tags"] as const;
const itemPaths = withPrefixes(collectionPaths, "/{tag_id}");

const TagQuery = lazyObject(() => pageQuery(50, 100).omit({ cursor: true }).shape);

/** Labels for tasks. Use this file as the example for a new resource. */
export const tags = [
  endpoint(
    "GET",
    "/api/tags",
    { as: member, summary: "List tags", query: TagQuery, returns: z.array(Tag) },
    async (ctx, { query }) => (await listTags(ctx, query)).items,
  ),
  endpoint(
    "GET",
    "/api/v1/tags",
    { as: member, summary: "List tags by page", query: longPageQuery(), returns: pageOf(Tag) },
    (ctx, { query }) => listTags(ctx, query),
  ),
  endpoint(
    "POST",
    collectionPaths,
    { as: admin, summary: "Create a tag", errors: [409], body: CreateTag, returns: Tag },
    (ctx, { body }) => createTag(ctx, body),
  ),
  endpoint("GET", itemPaths, { as: member, summary: "Get a tag", returns: Tag }, (ctx, { params }) => getTag(ctx, params.tag_id)),
  endpoint(
    "PATCH",
    itemPaths,
    {
      as: admin,
      summary: "Update a tag",
      conditional: tagResource,
      errors: [409],
      description: "Renaming keeps the slug. A blank slug is derived from the name.",
      authorize: (ctx, params) => getTag(ctx, params.tag_id),
      body: UpdateTag,
      returns: Tag,
    },
    (ctx, { params, body }) => updateTag(ctx, params.tag_id, body),
  ),
  endpoint(
    "DELETE",
    itemPaths,
    { as: admin, summary: "Delete a tag", conditional: tagResource, returns: Ok },
    async (ctx, { params }) => {
      await removeTag(ctx, params.tag_id);
      return ok;
    },
  ),
];
