import type { Context } from "@board/core/context/context";
import type { UserVerifier } from "./verified-identity.ts";

/**
 * The accounts of people in accounts mode. The platform opens them, because their library is large and the other modes do not
 * load it.
 */
export interface AccountService {
  /**
   * Answers a request to sign in, a request about the account of the signed-in person, or a request of a program that is being
   * connected.
   */
  handle(ctx: Context, request: Request): Promise<Response>;
  verify: UserVerifier;
}

export type LoadAccounts = () => Promise<AccountService>;
