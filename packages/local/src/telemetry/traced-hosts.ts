import type { Gateways } from "@board/core/context/gateways";
import type { HttpClient } from "@board/core/context/http-client";
import { traced, type Tracer } from "@board/core/context/tracer";

const addressOf = (url: string) => {
  if (!URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  return { "server.address": hostname, ...(port ? { "server.port": Number(port) } : {}) };
};

/** Measures the calls to hosts of gateways. */
export const traceGateways = (gateways: Gateways, tracer: Tracer): Gateways => ({
  ...gateways,
  request(target, method, params, options) {
    const attributes = { "rpc.system": "openclaw", "rpc.method": method, ...addressOf(target.url) };
    return traced({ tracer }, { name: `host ${method}`, kind: "client", attributes }, () =>
      gateways.request(target, method, params, options),
    );
  },
});

/** Measures the requests to receivers of subscriptions, until the answer begins. */
export const traceHttp = (http: HttpClient, tracer: Tracer): HttpClient => ({
  ...http,
  post(url, request, limits) {
    const attributes = { "http.request.method": "POST", ...addressOf(url) };
    return traced({ tracer }, { name: "POST", kind: "client", attributes }, async (span) => {
      const response = await http.post(url, request, limits);
      span.set({ "http.response.status_code": response.status });
      return response;
    });
  },
});
