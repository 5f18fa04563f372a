export interface Provider {
  issuer: string;
  client_id: string;
  scope: string;
  audience: string | null;
}

/** Whether the provider has redirected the person back to this page. */
export const hasReturned = (): boolean => /[?&](code|error)=/.test(location.search) && /[?&]state=/.test(location.search);

/** Redirects the person to the provider. */
export const leaveToSignIn = async (provider: Provider): Promise<void> => (await import("./oidc-flow.ts")).leave(provider);

/** Exchanges the code in the address for a token, and restores the earlier address. */
export const finishSignIn = async (provider: Provider): Promise<string> => (await import("./oidc-flow.ts")).finish(provider);
