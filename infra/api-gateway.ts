import { stageSettings } from "./stage.ts";

const { log_retention, throttle } = stageSettings($app.stage);

/** API_DOMAIN needs a hosted zone in Route 53, or, with DNS elsewhere, the ARN of a certificate in this region. */
const { API_DOMAIN: name, API_DOMAIN_CERTIFICATE: cert } = process.env;
const domain = name && (cert ? { name, cert, dns: false as const } : name);

export const apiGateway = new sst.aws.ApiGatewayV2("Api", {
  ...(domain ? { domain } : {}),
  // The service handles CORS itself (CORS_ORIGINS): API Gateway's CORS would overwrite its headers.
  cors: false,
  accessLog: { retention: log_retention },
  transform: {
    stage: (args) => {
      args.defaultRouteSettings = { throttlingRateLimit: throttle.rate, throttlingBurstLimit: throttle.burst };
    },
  },
});

/** The target for a DNS record of API_DOMAIN that is created by hand. */
export const domainTarget = domain ? apiGateway.nodes.domainName.domainNameConfiguration.targetDomainName : undefined;
