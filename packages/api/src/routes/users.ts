import { user } from "@board/core/context/actor";
import { UpdateUser, updateUser } from "@board/core/organization/profile";
import { removeUser } from "@board/core/organization/remove-user";
import { getUser, User } from "@board/core/organization/user";
import { bootstrap } from "@board/core/organization/active-organization";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

const SIGN_IN_DESCRIPTION = "Creates the user and a personal organization if they do not exist yet.";

/** The calling user. */
export const users = [
  endpoint("GET", "/api/v1/users/me", { as: user, summary: "Get the current user", returns: User }, (ctx) => getUser(ctx)),
  endpoint(
    "PATCH",
    "/api/v1/users/me",
    {
      as: user,
      summary: "Update the current user",
      description: "A blank value or null clears a field.",
      body: UpdateUser,
      returns: User,
    },
    (ctx, { body }) => updateUser(ctx, body),
  ),
  endpoint(
    "DELETE",
    "/api/v1/users/me",
    {
      as: user,
      summary: "Delete the current user",
      errors: [403, 422],
      description:
        "Also deletes organizations without other members. Not allowed for the last owner of an organization with other members, nor for the shared user of local mode.",
      returns: Ok,
    },
    async (ctx) => {
      await removeUser(ctx);
      return ok;
    },
  ),
  endpoint(
    "GET",
    "/api/v1/auth/bootstrap",
    { as: user, summary: "Sign in", description: SIGN_IN_DESCRIPTION, returns: User },
    (ctx) => bootstrap(ctx),
  ),
  endpoint(
    "POST",
    "/api/v1/auth/bootstrap",
    { as: user, operation_id: "post_auth_bootstrap", summary: "Sign in (POST)", description: SIGN_IN_DESCRIPTION, returns: User },
    (ctx) => bootstrap(ctx),
  ),
];
