import type { UserVerifier } from "./verified-identity.ts";

/** The accounts of people in accounts mode, which the platform opens: their library is large, and the other modes do not load it. */
export interface AccountService {
  /** Answers a request to sign in, about the account of the person who is signed in, or of a program that is being connected. */
  handle(request: Request, address: string): Promise<Response>;
  verify: UserVerifier;
}

export type LoadAccounts = () => Promise<AccountService>;
