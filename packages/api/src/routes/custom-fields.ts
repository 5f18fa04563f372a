import { admin, member } from "@board/core/context/actor";
import {
  CreateCustomField,
  createCustomField,
  CustomField,
  getCustomField,
  listCustomFields,
  removeCustomField,
  UpdateCustomField,
  updateCustomField,
} from "@board/core/task/field/custom-field";
import { arrayQuery } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { ARRAY_DESCRIPTION } from "../edge/answer.ts";
import { endpoint, withPrefixes } from "../endpoint.ts";

const collectionPaths = ["/organizations/me/custom-fields", "/api/v1/organizations/me/custom-fields"] as const;
const itemPaths = withPrefixes(collectionPaths, "/{field_id}");

/** Custom fields that an organization defines for the tasks of its boards. */
export const customFields = [
  endpoint(
    "GET",
    collectionPaths,
    {
      as: member,
      summary: "List custom fields",
      description: ARRAY_DESCRIPTION,
      query: arrayQuery,
      returns: z.array(CustomField),
    },
    (ctx, { query }) => listCustomFields(ctx, query),
  ),
  endpoint(
    "POST",
    collectionPaths,
    {
      as: admin,
      summary: "Create a custom field",
      errors: [409],
      description:
        "Existing tasks show the default. A required field is enforced when the custom values of a task are changed next.",
      body: CreateCustomField,
      returns: CustomField,
    },
    (ctx, { body }) => createCustomField(ctx, body),
  ),
  endpoint(
    "PATCH",
    itemPaths,
    {
      as: admin,
      summary: "Update a custom field",
      errors: [409],
      description: "Returns 409 while tasks have values that the new type or pattern does not allow.",
      authorize: (ctx, params) => getCustomField(ctx, params.field_id),
      body: UpdateCustomField,
      returns: CustomField,
    },
    (ctx, { params, body }) => updateCustomField(ctx, params.field_id, body),
  ),
  endpoint(
    "DELETE",
    itemPaths,
    { as: admin, summary: "Delete a custom field", errors: [409], returns: Ok },
    async (ctx, { params }) => {
      await removeCustomField(ctx, params.field_id);
      return ok;
    },
  ),
];
