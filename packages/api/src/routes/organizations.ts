import { withActiveOrganization } from "@board/core/organization/active-organization";
import { admin, member, user } from "@board/core/context/actor";
import {
  ActivateOrganization,
  activateOrganization,
  CreateOrganization,
  createOrganization,
  getOrganization,
  listOrganizations,
  Organization,
  OrganizationListItem,
  UpdateOrganization,
  updateOrganization,
} from "@board/core/organization/organization";
import { removeActiveOrganization } from "@board/core/organization/remove";
import { arrayQuery } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { ARRAY_DESCRIPTION } from "../edge/answer.ts";
import { endpoint, withPrefixes } from "../endpoint.ts";
import { invites } from "./invites.ts";
import { members } from "./members.ts";

const prefixes = ["/organizations", "/api/v1/organizations"] as const;

/** The organizations of the caller, with their members and invites. */
export const organizations = [
  endpoint(
    "POST",
    prefixes,
    {
      as: user,
      summary: "Create an organization",
      errors: [409],
      description: "The caller becomes its owner, and it becomes their active organization.",
      body: CreateOrganization,
      returns: Organization,
    },
    (ctx, { body }) => createOrganization(ctx, body),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/me/list"),
    {
      as: user,
      operation_id: "list_organizations",
      summary: "List the caller's organizations",
      description: ARRAY_DESCRIPTION,
      query: arrayQuery,
      returns: z.array(OrganizationListItem),
    },
    async (ctx, { query }) => listOrganizations(await withActiveOrganization(ctx), query),
  ),
  endpoint(
    "PATCH",
    withPrefixes(prefixes, "/me/active"),
    {
      as: user,
      operation_id: "activate_organization",
      summary: "Choose the active organization",
      body: ActivateOrganization,
      returns: Organization,
    },
    (ctx, { body }) => activateOrganization(ctx, body),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/me"),
    // 404 is possible, because another owner may remove the organization at the same time.
    { as: member, summary: "Get the active organization", errors: [404], returns: Organization },
    (ctx) => getOrganization(ctx),
  ),
  endpoint(
    "PATCH",
    withPrefixes(prefixes, "/me"),
    {
      as: admin,
      summary: "Rename the active organization",
      errors: [409],
      body: UpdateOrganization,
      returns: Organization,
    },
    (ctx, { body }) => updateOrganization(ctx, body),
  ),
  endpoint(
    "DELETE",
    withPrefixes(prefixes, "/me"),
    {
      as: admin,
      summary: "Delete the active organization",
      description:
        "For owners only. Deletes everything in the organization; its agents are removed from their hosts in the background.",
      returns: Ok,
    },
    async (ctx) => {
      await removeActiveOrganization(ctx);
      return ok;
    },
  ),
  ...members,
  ...invites,
];
