import { user } from "@board/core/actor";
import { bootstrap, getUser, User } from "@board/core/organization/user";
import { endpoint } from "../endpoint.ts";

const signIn = "Makes the user and a personal organization when they are missing.";

/** The caller as a person. */
export const users = [
  endpoint("GET", "/api/v1/users/me", { as: user, summary: "Get the caller", returns: User }, (ctx) => getUser(ctx)),
  endpoint("GET", "/api/v1/auth/bootstrap", { as: user, summary: "Sign in", description: signIn, returns: User }, (ctx) =>
    bootstrap(ctx),
  ),
  endpoint("POST", "/api/v1/auth/bootstrap", { as: user, summary: "Sign in (POST)", description: signIn, returns: User }, (ctx) =>
    bootstrap(ctx),
  ),
];
