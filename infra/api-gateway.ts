import { webhookRoutes } from "../packages/functions/src/manifest.ts";
import { stageSettings } from "./stage.ts";

const { log_retention, throttle, webhook_throttle } = stageSettings($app.stage);

/** API_DOMAIN needs a hosted zone in Route 53, or, with DNS elsewhere, the ARN of a certificate in this region. */
const { API_DOMAIN: name, API_DOMAIN_CERTIFICATE: cert } = process.env;
const domain = name && (cert ? { name, cert, dns: false as const } : name);

const { promise: routesToThrottle, resolve } = Promise.withResolvers<$util.Input<$util.Resource>[]>();

/** Called when all routes are declared, because API Gateway rejects a throttle for a route that does not exist yet. */
export const throttleAfter = resolve;

export const apiGateway = new sst.aws.ApiGatewayV2("Api", {
  ...(domain ? { domain } : {}),
  accessLog: { retention: log_retention },
  transform: {
    api: (args) => {
      // The service handles CORS itself (CORS_ORIGINS). Any configuration here, even the empty one that `cors: false` renders,
      // makes API Gateway answer preflights and remove the service's headers.
      delete args.corsConfiguration;
    },
    stage: (args, options) => {
      args.defaultRouteSettings = { throttlingRateLimit: throttle.rate, throttlingBurstLimit: throttle.burst };
      args.routeSettings = webhookRoutes.map((routeKey) => ({
        routeKey,
        throttlingRateLimit: webhook_throttle.rate,
        throttlingBurstLimit: webhook_throttle.burst,
      }));
      options.dependsOn = routesToThrottle;
    },
  },
});

/** Not `apiGateway.url`: with a domain it waits for the stage, and the stage waits for functions that need this URL. */
export const apiUrl: $util.Input<string> = name ? `https://${name}` : apiGateway.nodes.api.apiEndpoint;

/** The target for a DNS record of API_DOMAIN that is created by hand. */
export const domainTarget = domain ? apiGateway.nodes.domainName.domainNameConfiguration.targetDomainName : undefined;
