const SCHEMES = /^(wss?|https?):$/;

/** The scheme, host and port that a url dials; http stands for ws. Two urls with the same origin reach the same server. */
export function gatewayOrigin(text: string): string {
  const { protocol, host } = new URL(text.replace(/^http/i, "ws"));
  return `${protocol}//${host}`;
}

/** Returns whether the text can be a gateway's url: ws, wss, http or https with a host. */
export function isGatewayUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && SCHEMES.test(url.protocol) && url.hostname !== "";
}
