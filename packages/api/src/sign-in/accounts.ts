import type { UserVerifier } from "./verified-identity.ts";

/** The accounts of people in accounts mode, which the platform opens: their library is large, and the other modes do not load it. */
export interface AccountService {
  /** Answers a request to sign in, or about the account of the person who is signed in. */
  handle(request: Request, address: string): Promise<Response>;
  verify: UserVerifier;
}

export type LoadAccounts = () => Promise<AccountService>;
