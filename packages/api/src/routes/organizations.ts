import { member, user } from "@board/core/actor";
import { getOwnMember, Member } from "@board/core/organization/member";
import { getOrganization, listOrganizations, Organization, OrganizationListItem } from "@board/core/organization/organization";
import * as z from "zod";
import { endpoint, under } from "../endpoint.ts";

const both = ["/organizations", "/api/v1/organizations"] as const;

/** The organizations of the caller. */
export const organizations = [
  endpoint(
    "GET",
    under(both, "/me/list"),
    { as: user, summary: "List the caller's organizations", returns: z.array(OrganizationListItem) },
    (ctx) => listOrganizations(ctx),
  ),
  endpoint("GET", under(both, "/me"), { as: member, summary: "Get the active organization", returns: Organization }, (ctx) =>
    getOrganization(ctx),
  ),
  endpoint("GET", under(both, "/me/member"), { as: member, summary: "Get the caller's membership", returns: Member }, (ctx) =>
    getOwnMember(ctx),
  ),
];
