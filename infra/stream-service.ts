import { streamContainer } from "../packages/functions/src/manifest.ts";
import { environment } from "./environment.ts";
import { migration } from "./migrate.ts";
import { stageSettings } from "./stage.ts";

const { STREAM_DOMAIN_CERTIFICATE: cert, TRUSTED_PROXIES } = process.env;

/**
 * The addresses of the network, in which the load balancer is. The load balancer is a trusted proxy, because it names the client
 * in X-Forwarded-For.
 */
const NETWORK = "10.0.0.0/16";
/** Short, because a stream that ends tells its client where to resume, so waiting longer gains nothing. */
const DRAIN_SECONDS = 10;

const health = `${streamContainer.port}/http` as const;

/**
 * Creates one container behind a load balancer. The network has no NAT, because the container only needs the database. A deployment
 * starts the new container before it stops the old one.
 */
export function createStreamService(domain: string) {
  const vpc = new sst.aws.Vpc("StreamNetwork", {
    transform: { vpc: { cidrBlock: NETWORK } },
  });
  const cluster = new sst.aws.Cluster("StreamCluster", { vpc });
  const service = new sst.aws.Service("Streams", {
    cluster,
    architecture: "arm64",
    cpu: streamContainer.cpu,
    memory: streamContainer.memory,
    image: { context: ".", dockerfile: "infra/streams.Dockerfile" },
    environment: {
      ...environment,
      HOST: "0.0.0.0",
      PORT: String(streamContainer.port),
      DATABASE_CONNECTIONS: String(streamContainer.connections),
      TRUSTED_PROXIES: [NETWORK, TRUSTED_PROXIES].filter(Boolean).join(","),
    },
    logging: { retention: stageSettings($app.stage).log_retention },
    loadBalancer: {
      domain: cert ? { name: domain, cert, dns: false } : domain,
      rules: [{ listen: "443/https", forward: health }],
      health: { [health]: { path: "/health", interval: "10 seconds" } },
    },
    // All streams must be in one process, because that process counts them for the budgets and shares polls between them.
    scaling: { min: 1, max: 1, cpuUtilization: false, memoryUtilization: false },
    wait: true,
    transform: {
      target: { deregistrationDelay: DRAIN_SECONDS },
      loadBalancerSecurityGroup: (args) => {
        args.ingress = [{ fromPort: 443, toPort: 443, protocol: "tcp", cidrBlocks: ["0.0.0.0/0"] }];
      },
      // By default SST lets the container open shells and read every parameter and secret of the account.
      taskRole: (args) => {
        args.inlinePolicies = [];
      },
      executionRole: (args) => {
        args.inlinePolicies = [];
      },
      service: (args, options) => {
        args.enableExecuteCommand = false;
        options.dependsOn = migration;
      },
    },
  });
  return {
    /** The address for a DNS record that is created by hand. */
    address: service.nodes.loadBalancer.dnsName,
    /** The dimensions of the service's metrics. */
    dimensions: { ClusterName: cluster.nodes.cluster.name, ServiceName: service.nodes.service.name },
  };
}
