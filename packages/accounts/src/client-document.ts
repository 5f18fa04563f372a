import type { HttpClient } from "@board/core/context/http-client";

const LIMITS = { connect_ms: 3_000, total_ms: 5_000, max_bytes: 65_536 };

/**
 * Fetches the metadata document of a client. Only public hosts are contacted, because anybody can name an address in a request to
 * sign in.
 */
export const fetchClientDocument =
  (http: HttpClient) =>
  async (input: Request | URL | string): Promise<Response> => {
    const { status, headers, body } = await http.get(input instanceof Request ? input.url : String(input), LIMITS);
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    const sent = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(", ")] as [string, string]],
    );
    // The constructor of `Response` accepts no other statuses.
    if (status < 200 || status > 599) throw new TypeError(`The address answered ${status}`);
    const hasBody = ![204, 205, 304].includes(status);
    return new Response(hasBody ? Buffer.concat(parts) : null, { status, headers: sent });
  };
