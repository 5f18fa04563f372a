const THIS_MACHINE = /^(http:\/\/)(?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?=:|$)/;

/**
 * Returns the address of a service that has no BASE_URL and listens at `listening_url`. In accounts mode this machine is called
 * localhost, because browsers accept passkeys for names only, not for IP addresses.
 */
export const toServiceUrl = (listening_url: string, mode: "local" | "oidc" | "accounts"): string =>
  mode === "accounts" ? listening_url.replace(THIS_MACHINE, "$1localhost") : listening_url;

/** Returns all addresses of the service. A program of this machine may also use 127.0.0.1 instead of localhost. */
export function ownAddresses({ service_url }: { readonly service_url: string }): string[] {
  const { hostname } = new URL(service_url);
  return hostname === "localhost" ? [service_url, service_url.replace("//localhost", "//127.0.0.1")] : [service_url];
}

/** Returns the address of the service that a client uses, because clients refuse metadata that names another address. */
export const toUsedAddress = (settings: { readonly service_url: string }, host: string | null | undefined): string =>
  ownAddresses(settings).find((address) => new URL(address).host === host) ?? settings.service_url;
