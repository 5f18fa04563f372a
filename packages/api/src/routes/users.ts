import { user } from "@board/core/actor";
import { UpdateUser, updateUser } from "@board/core/organization/profile";
import { deleteUser } from "@board/core/organization/user-removal";
import { bootstrap, getUser, User } from "@board/core/organization/user";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

const signIn = "Makes the user and a personal organization when they are missing.";

/** The caller as a person. */
export const users = [
  endpoint("GET", "/api/v1/users/me", { as: user, summary: "Get the caller", returns: User }, (ctx) => getUser(ctx)),
  endpoint(
    "PATCH",
    "/api/v1/users/me",
    { as: user, summary: "Change the caller", description: "Blank or null clears a field.", body: UpdateUser, returns: User },
    (ctx, { body }) => updateUser(ctx, body),
  ),
  endpoint(
    "DELETE",
    "/api/v1/users/me",
    {
      as: user,
      summary: "Delete the caller",
      errors: [403, 422],
      description:
        "Organizations with no other member go too. Refused to the last owner of an organization that others are in, and to the shared user of local mode.",
      returns: Ok,
    },
    async (ctx) => {
      await deleteUser(ctx);
      return ok;
    },
  ),
  endpoint("GET", "/api/v1/auth/bootstrap", { as: user, summary: "Sign in", description: signIn, returns: User }, (ctx) =>
    bootstrap(ctx),
  ),
  endpoint(
    "POST",
    "/api/v1/auth/bootstrap",
    { as: user, operation_id: "post_auth_bootstrap", summary: "Sign in (POST)", description: signIn, returns: User },
    (ctx) => bootstrap(ctx),
  ),
];
