import { admin, member } from "@board/core/actor";
import {
  CreateCustomField,
  createCustomField,
  CustomField,
  getCustomField,
  listCustomFields,
  removeCustomField,
  UpdateCustomField,
  updateCustomField,
} from "@board/core/task/custom-field";
import { Ok, ok } from "@board/core/wire";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";

const both = ["/organizations/me/custom-fields", "/api/v1/organizations/me/custom-fields"] as const;
const one = under(both, "/{field_id}");

/** Fields that an organization gives to the tasks of its boards. */
export const customFields = [
  endpoint("GET", both, { as: member, summary: "List custom fields", returns: z.array(CustomField) }, (ctx) =>
    listCustomFields(ctx),
  ),
  endpoint(
    "POST",
    both,
    {
      as: admin,
      summary: "Create a custom field",
      errors: [409],
      description: "Tasks that exist already show the default; required fields are asked for when their values are next changed.",
      body: CreateCustomField,
      returns: CustomField,
    },
    (ctx, { body }) => createCustomField(ctx, body),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: admin,
      summary: "Change a custom field",
      errors: [409],
      description: "Refused while tasks have values that a new type or pattern would not take.",
      reaches: (ctx, params) => getCustomField(ctx, params.field_id),
      body: UpdateCustomField,
      returns: CustomField,
    },
    (ctx, { params, body }) => updateCustomField(ctx, params.field_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    { as: admin, summary: "Delete a custom field", errors: [409], returns: Ok },
    async (ctx, { params }) => {
      await removeCustomField(ctx, params.field_id);
      return ok;
    },
  ),
];
