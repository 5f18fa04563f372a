const SCHEMES = /^(wss?|https?):$/;

/** Returns the scheme, host and port that a url dials, with ws for http. Two urls with the same origin lead to the same server. */
export function gatewayOrigin(text: string): string {
  const { protocol, host } = new URL(text.replace(/^http/i, "ws"));
  return `${protocol}//${host}`;
}

/** Returns whether the text can be a gateway's url: ws, wss, http or https with a host. */
export function isGatewayUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && SCHEMES.test(url.protocol) && url.hostname !== "";
}
