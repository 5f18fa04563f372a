const SCHEMES = /^(wss?|https?):$/;

/** Whether a text can be the address of a gateway: ws, wss, http or https, and a host. */
export function isGatewayUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && SCHEMES.test(url.protocol) && url.hostname !== "";
}
