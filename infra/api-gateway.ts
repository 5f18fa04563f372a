import { stageOf } from "./stage.ts";

const { retention, throttle } = stageOf($app.stage);

/** API_DOMAIN needs a hosted zone in Route 53, or with DNS elsewhere the ARN of a certificate of this region. */
const { API_DOMAIN: name, API_DOMAIN_CERTIFICATE: cert } = process.env;
const domain = name && (cert ? { name, cert, dns: false as const } : name);

export const apiGateway = new sst.aws.ApiGatewayV2("Api", {
  ...(domain ? { domain } : {}),
  // The service answers preflights itself, by its own setting: API Gateway's CORS would overwrite its headers.
  cors: false,
  accessLog: { retention },
  transform: {
    stage: (args) => {
      args.defaultRouteSettings = { throttlingRateLimit: throttle.rate, throttlingBurstLimit: throttle.burst };
    },
  },
});

/** What a record of API_DOMAIN must point to when it is made by hand. */
export const domainTarget = domain ? apiGateway.nodes.domainName.domainNameConfiguration.targetDomainName : undefined;
