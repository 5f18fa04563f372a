import { admin, member, user } from "@board/core/actor";
import {
  ActivateOrganization,
  activateOrganization,
  CreateOrganization,
  createOrganization,
  getOrganization,
  listOrganizations,
  Organization,
  OrganizationListItem,
} from "@board/core/organization/organization";
import { deleteOrganization } from "@board/core/organization/removal";
import { Ok, ok } from "@board/core/wire";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";
import { invites } from "./invites.ts";
import { members } from "./members.ts";

const both = ["/organizations", "/api/v1/organizations"] as const;

/** The organizations of the caller, with their members and invites. */
export const organizations = [
  endpoint(
    "POST",
    both,
    {
      as: user,
      summary: "Create an organization",
      errors: [409],
      description: "The caller owns it and works in it from now on.",
      body: CreateOrganization,
      returns: Organization,
    },
    (ctx, { body }) => createOrganization(ctx, body),
  ),
  endpoint(
    "GET",
    under(both, "/me/list"),
    {
      as: user,
      operation_id: "list_organizations",
      summary: "List the caller's organizations",
      returns: z.array(OrganizationListItem),
    },
    (ctx) => listOrganizations(ctx),
  ),
  endpoint(
    "PATCH",
    under(both, "/me/active"),
    {
      as: user,
      operation_id: "activate_organization",
      summary: "Choose the active organization",
      body: ActivateOrganization,
      returns: Organization,
    },
    (ctx, { body }) => activateOrganization(ctx, body),
  ),
  endpoint("GET", under(both, "/me"), { as: member, summary: "Get the active organization", returns: Organization }, (ctx) =>
    getOrganization(ctx),
  ),
  endpoint(
    "DELETE",
    under(both, "/me"),
    {
      as: admin,
      summary: "Delete the active organization",
      description: "For owners. Everything in it goes; its agents are removed from their hosts afterwards.",
      returns: Ok,
    },
    async (ctx) => {
      await deleteOrganization(ctx);
      return ok;
    },
  ),
  ...members,
  ...invites,
];
