/**
 * Lists the calls by which a deployment creates, reads, changes and removes each resource of the graph. They are taken from the
 * code and the documents of SST and of the AWS provider. A resource of a type that is not listed here fails the test.
 */
import type { Resource } from "./mocks.ts";

export interface Call {
  action: string;
  resource: string;
  context?: Record<string, string>;
}

const ACCOUNT = "123456789012";
const REGION = "us-east-1";
const FROM_GATEWAY = `arn:aws:apigateway:${REGION}::`;
const arn = (service: string, rest: string, region = REGION) => `arn:aws:${service}:${region}:${ACCOUNT}:${rest}`;

/** Returns one call for each action of a service. `names` are the actions, separated by spaces. */
const on = (service: string, names: string, resource: string, context?: Call["context"]): Call[] =>
  names.split(" ").map((name) => ({ action: `${service}:${name}`, resource, ...(context && { context }) }));
const inRegion = (service: string, names: string, resource = "*") =>
  on(service, names, resource, { "aws:RequestedRegion": REGION });

const TAGS = "ListTagsForResource TagResource UntagResource";
const inGateway = (path: string): Call[] => on("apigateway", "GET POST PATCH DELETE", FROM_GATEWAY + path);
const ofFunction = (names: string) => (inputs: Inputs) =>
  on("lambda", names, String(inputs.function ?? inputs.functionName).replace(/^(?!arn:)/, arn("lambda", "function:")));
const ofBucket = (names: string) => (inputs: Inputs) => on("s3", names, `arn:aws:s3:::${inputs.bucket}`);
const ofLogGroup = (names: string) => (inputs: Inputs) =>
  on("logs", names, arn("logs", `log-group:${inputs.logGroupName ?? inputs.name}`));
const inApi = (path: string) => () => inGateway(`/apis/api/${path}/one`);
const network = (names: string, resource: string) => () => inRegion("ec2", names, arn("ec2", resource));

// oxlint-disable-next-line typescript/no-explicit-any -- the shape is the resource type's
type Inputs = any;

function ofRole({ name, managedPolicyArns = [], assumeRolePolicy, inlinePolicies = [] }: Inputs): Call[] {
  const role = arn("iam", `role/${name}`, "");
  const [service] = /[\w-]+\.amazonaws\.com/.exec(JSON.stringify(assumeRolePolicy))!;
  return [
    ...on("iam", "CreateRole GetRole UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy DeleteRole TagRole UntagRole", role),
    ...on("iam", "ListRolePolicies ListAttachedRolePolicies ListInstanceProfilesForRole", role),
    ...(inlinePolicies.length > 0 ? on("iam", "GetRolePolicy PutRolePolicy DeleteRolePolicy", role) : []),
    ...(managedPolicyArns as string[]).flatMap((policy) =>
      on("iam", "AttachRolePolicy DetachRolePolicy", role, { "iam:PolicyARN": policy }),
    ),
    ...on("iam", "PassRole", role, { "iam:PassedToService": service }),
  ];
}

const NOTHING = () => [];

const CALLS: Readonly<Record<string, (inputs: Inputs) => Call[]>> = {
  "aws:iam/role:Role": ofRole,
  "aws:lambda/function:Function": ({ name, reservedConcurrentExecutions }) => [
    ...ofFunction(
      "CreateFunction GetFunction GetFunctionConfiguration GetFunctionCodeSigningConfig ListVersionsByFunction UpdateFunctionCode UpdateFunctionConfiguration DeleteFunction ListTags TagResource UntagResource",
    )({ function: name }),
    ...(reservedConcurrentExecutions === undefined
      ? []
      : ofFunction("GetFunctionConcurrency PutFunctionConcurrency DeleteFunctionConcurrency")({ function: name })),
  ],
  "aws:lambda/permission:Permission": ofFunction("GetPolicy AddPermission RemovePermission"),
  "aws:lambda/invocation:Invocation": ofFunction("InvokeFunction"),
  "aws:lambda/functionUrl:FunctionUrl": ofFunction(
    "CreateFunctionUrlConfig GetFunctionUrlConfig UpdateFunctionUrlConfig DeleteFunctionUrlConfig",
  ),
  "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": ofFunction(
    "GetFunctionEventInvokeConfig PutFunctionEventInvokeConfig DeleteFunctionEventInvokeConfig",
  ),
  "aws:lambda/eventSourceMapping:EventSourceMapping": ({ functionName }) => {
    const mapping = arn("lambda", "event-source-mapping:one");
    const context = { "lambda:FunctionArn": functionName };
    return [
      ...on("lambda", "CreateEventSourceMapping", "*", context),
      ...on("lambda", "GetEventSourceMapping UpdateEventSourceMapping DeleteEventSourceMapping", mapping, context),
      ...on("lambda", "ListTags TagResource UntagResource", mapping),
    ];
  },
  "aws:sqs/queue:Queue": ({ name }) =>
    on(
      "sqs",
      "CreateQueue GetQueueUrl GetQueueAttributes SetQueueAttributes DeleteQueue ListQueueTags TagQueue UntagQueue",
      arn("sqs", name),
    ),
  "aws:sns/topic:Topic": ({ name }) =>
    on("sns", `CreateTopic GetTopicAttributes SetTopicAttributes DeleteTopic ${TAGS}`, arn("sns", name)),
  "aws:sns/topicSubscription:TopicSubscription": ({ topic }) => [
    ...on("sns", "Subscribe", topic),
    ...on("sns", "GetSubscriptionAttributes SetSubscriptionAttributes Unsubscribe", "*"),
  ],
  "aws:cloudwatch/eventBus:EventBus": ({ name }) =>
    on("events", `CreateEventBus DescribeEventBus UpdateEventBus DeleteEventBus ${TAGS}`, arn("events", `event-bus/${name}`)),
  "aws:scheduler/schedule:Schedule": ({ name }) =>
    on("scheduler", "CreateSchedule GetSchedule UpdateSchedule DeleteSchedule", arn("scheduler", `schedule/default/${name}`)),
  "aws:cloudwatch/metricAlarm:MetricAlarm": ({ name }) =>
    on("cloudwatch", `PutMetricAlarm DeleteAlarms DescribeAlarms ${TAGS}`, arn("cloudwatch", `alarm:${name}`)),
  "aws:cloudwatch/dashboard:Dashboard": ({ dashboardName }) =>
    on("cloudwatch", "GetDashboard PutDashboard DeleteDashboards", arn("cloudwatch", `dashboard/${dashboardName}`, "")),
  "aws:cloudwatch/logGroup:LogGroup": (inputs) => [
    ...ofLogGroup(`CreateLogGroup PutRetentionPolicy DeleteRetentionPolicy DeleteLogGroup ${TAGS}`)(inputs),
    ...on("logs", "DescribeLogGroups", "*"),
  ],
  "aws:cloudwatch/logMetricFilter:LogMetricFilter": ofLogGroup("PutMetricFilter DescribeMetricFilters DeleteMetricFilter"),
  "aws:apigatewayv2/api:Api": () => [...inGateway("/apis/api"), ...on("apigateway", "POST", `${FROM_GATEWAY}/apis`)],
  "aws:apigatewayv2/integration:Integration": inApi("integrations"),
  "aws:apigatewayv2/route:Route": inApi("routes"),
  "aws:apigatewayv2/stage:Stage": () => [
    ...inGateway("/apis/api/stages/one"),
    ...on("apigateway", "PUT", `${FROM_GATEWAY}/tags/one`),
    ...on("logs", "CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery ListLogDeliveries", "*"),
    ...on("logs", "PutResourcePolicy DescribeResourcePolicies", "*"),
  ],
  "aws:apigatewayv2/domainName:DomainName": () => [
    ...inGateway("/domainnames/one"),
    ...on("apigateway", "POST", `${FROM_GATEWAY}/domainnames`),
  ],
  "aws:apigatewayv2/apiMapping:ApiMapping": () => inGateway("/domainnames/one/apimappings/one"),
  "aws:acm/certificate:Certificate": () => [
    ...on("acm", "RequestCertificate", "*"),
    ...on(
      "acm",
      "DescribeCertificate DeleteCertificate ListTagsForCertificate AddTagsToCertificate RemoveTagsFromCertificate",
      arn("acm", "certificate/one"),
    ),
  ],
  "aws:acm/certificateValidation:CertificateValidation": () => on("acm", "DescribeCertificate", arn("acm", "certificate/one")),
  "aws:route53/record:Record": () => [
    ...on("route53", "GetHostedZone ListResourceRecordSets ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/ZOWN"),
    ...on("route53", "GetChange", "arn:aws:route53:::change/one"),
  ],
  // SST looks up the hosted zone of a domain name.
  "pulumi-nodejs:dynamic:Resource": () => on("route53", "ListHostedZones ListHostedZonesByName", "*"),
  "aws:s3/bucketObjectv2:BucketObjectv2": () => [
    ...on(
      "s3",
      "GetObject GetObjectVersion GetObjectTagging PutObject PutObjectTagging DeleteObject DeleteObjectVersion",
      "arn:aws:s3:::sst-asset-one/assets/code.zip",
    ),
    ...on("s3", "ListBucket ListBucketVersions", "arn:aws:s3:::sst-asset-one"),
  ],
  "aws:s3/bucket:Bucket": ofBucket(
    `CreateBucket DeleteBucket ListBucket GetBucketLocation GetBucketAcl GetBucketCORS GetBucketWebsite GetBucketVersioning GetAccelerateConfiguration GetBucketRequestPayment GetBucketLogging GetLifecycleConfiguration GetReplicationConfiguration GetEncryptionConfiguration GetBucketObjectLockConfiguration GetBucketPolicy GetBucketTagging PutBucketTagging ${TAGS}`,
  ),
  "aws:s3/bucketPolicy:BucketPolicy": ofBucket("GetBucketPolicy PutBucketPolicy DeleteBucketPolicy"),
  "aws:s3/bucketCorsConfiguration:BucketCorsConfiguration": ofBucket("GetBucketCORS PutBucketCORS"),
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": ofBucket("GetBucketPublicAccessBlock PutBucketPublicAccessBlock"),
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": ofBucket(
    "GetEncryptionConfiguration PutEncryptionConfiguration",
  ),
  "aws:ec2/vpc:Vpc": network("CreateVpc DeleteVpc ModifyVpcAttribute DescribeVpcAttribute CreateTags DeleteTags", "vpc/vpc-1"),
  "aws:ec2/internetGateway:InternetGateway": network(
    "CreateInternetGateway DeleteInternetGateway AttachInternetGateway DetachInternetGateway",
    "internet-gateway/igw-1",
  ),
  "aws:ec2/subnet:Subnet": network("CreateSubnet DeleteSubnet ModifySubnetAttribute", "subnet/subnet-1"),
  "aws:ec2/routeTable:RouteTable": network("CreateRouteTable DeleteRouteTable CreateRoute DeleteRoute", "route-table/rtb-1"),
  "aws:ec2/routeTableAssociation:RouteTableAssociation": network(
    "AssociateRouteTable DisassociateRouteTable",
    "route-table/rtb-1",
  ),
  "aws:ec2/securityGroup:SecurityGroup": () => [
    ...network(
      "CreateSecurityGroup DeleteSecurityGroup AuthorizeSecurityGroupIngress RevokeSecurityGroupIngress AuthorizeSecurityGroupEgress RevokeSecurityGroupEgress",
      "security-group/sg-1",
    )(),
    ...inRegion(
      "ec2",
      "DescribeVpcs DescribeInternetGateways DescribeSubnets DescribeRouteTables DescribeSecurityGroups DescribeSecurityGroupRules DescribeNetworkAcls DescribeNetworkInterfaces DescribeAvailabilityZones DescribeAccountAttributes",
    ),
  ],
  "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": network(
    "RevokeSecurityGroupIngress AuthorizeSecurityGroupEgress",
    "security-group/sg-1",
  ),
  "aws:ecs/cluster:Cluster": () =>
    inRegion("ecs", `CreateCluster DeleteCluster DescribeClusters UpdateCluster ${TAGS}`, arn("ecs", "cluster/one")),
  "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders": () =>
    inRegion("ecs", "PutClusterCapacityProviders", arn("ecs", "cluster/one")),
  "aws:ecs/taskDefinition:TaskDefinition": () => [
    ...inRegion("ecs", "RegisterTaskDefinition", arn("ecs", "task-definition/one:1")),
    ...inRegion("ecs", "DeregisterTaskDefinition DescribeTaskDefinition"),
  ],
  "aws:ecs/service:Service": () =>
    inRegion("ecs", "CreateService UpdateService DeleteService DescribeServices", arn("ecs", "service/one/Streams")),
  "aws:lb/loadBalancer:LoadBalancer": () => [
    ...inRegion(
      "elasticloadbalancing",
      "CreateLoadBalancer DeleteLoadBalancer ModifyLoadBalancerAttributes SetSecurityGroups SetSubnets AddTags RemoveTags",
      arn("elasticloadbalancing", "loadbalancer/app/one/1"),
    ),
    ...inRegion(
      "elasticloadbalancing",
      "DescribeLoadBalancers DescribeLoadBalancerAttributes DescribeTargetGroups DescribeTargetGroupAttributes DescribeListeners DescribeListenerAttributes DescribeTags",
    ),
  ],
  "aws:lb/targetGroup:TargetGroup": () =>
    inRegion(
      "elasticloadbalancing",
      "CreateTargetGroup DeleteTargetGroup ModifyTargetGroup ModifyTargetGroupAttributes",
      arn("elasticloadbalancing", "targetgroup/one/1"),
    ),
  "aws:lb/listener:Listener": () => [
    ...inRegion("elasticloadbalancing", "CreateListener", arn("elasticloadbalancing", "loadbalancer/app/one/1")),
    ...inRegion("elasticloadbalancing", "ModifyListener DeleteListener", arn("elasticloadbalancing", "listener/app/one/1/1")),
  ],
  "aws:servicediscovery/privateDnsNamespace:PrivateDnsNamespace": () => [
    ...inRegion("servicediscovery", "CreatePrivateDnsNamespace GetOperation"),
    ...inRegion("servicediscovery", "DeleteNamespace GetNamespace", arn("servicediscovery", "namespace/one")),
    ...on("route53", "CreateHostedZone ListHostedZonesByName", "*"),
    ...on("route53", "DeleteHostedZone", "arn:aws:route53:::hostedzone/ZSST"),
  ],
  "aws:servicediscovery/service:Service": () => [
    ...inRegion(
      "servicediscovery",
      "CreateService UpdateService DeleteService GetService",
      arn("servicediscovery", "service/one"),
    ),
    ...inRegion("servicediscovery", TAGS),
  ],
  "aws:appautoscaling/target:Target": () => [
    ...inRegion(
      "application-autoscaling",
      `RegisterScalableTarget DeregisterScalableTarget ${TAGS}`,
      arn("application-autoscaling", "scalable-target/one"),
    ),
    ...inRegion("application-autoscaling", "DescribeScalableTargets"),
  ],
  "docker-build:index:Image": () => [
    ...on("ecr", "GetAuthorizationToken", "*"),
    ...on(
      "ecr",
      "BatchCheckLayerAvailability BatchGetImage GetDownloadUrlForLayer InitiateLayerUpload UploadLayerPart CompleteLayerUpload PutImage",
      arn("ecr", "repository/sst-asset"),
    ),
  ],
  // These exist only in the state of the deployment, so they need no call.
  "pulumi:pulumi:Stack": NOTHING,
  "random:index/randomBytes:RandomBytes": NOTHING,
};

/** The calls by which SST reads and writes its own state. */
const OWN: readonly Call[] = [
  ...on("ssm", "GetParameter PutParameter", arn("ssm", "parameter/sst/passphrase/board-coordination/production")),
  ...on("s3", "GetObject PutObject DeleteObject", "arn:aws:s3:::sst-state-one/app/board-coordination/production.json"),
  ...on("s3", "ListBucket", "arn:aws:s3:::sst-state-one"),
];

/** Returns all calls that a deployment of these resources makes, without duplicates. */
export function callsOf(resources: readonly Resource[]): Call[] {
  const calls = resources.flatMap(({ type, inputs }) => {
    if (type.startsWith("sst:")) return [];
    const found = CALLS[type];
    if (!found) throw new Error(`The calls of ${type} are not listed`);
    return found(inputs);
  });
  return [...new Map([...OWN, ...calls].map((call) => [JSON.stringify(call), call])).values()];
}
