/** Mocks of AWS for rendering: they return plausible ids and ARNs and record every resource. */
import { platformRequire } from "./program.ts";

const ACCOUNT = "123456789012";
const REGION = "us-east-1";

export interface Resource {
  urn: string;
  type: string;
  name: string;
  /** URNs of the resources that this one depends on. */
  dependencies: string[];
  /** Whether the resource stays in AWS when it is removed from the program. */
  retained: boolean;
  /** The inputs as Pulumi sends them: a secret is an object with a signature. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the shape is the resource type's
  inputs: any;
}

interface ResourceArgs {
  type: string;
  name: string;
  inputs: Record<string, unknown>;
}

interface CallArgs {
  token: string;
  inputs: Record<string, unknown>;
}

/** ARN prefixes that do not follow from the service of the type. */
const ARNS: Readonly<Record<string, string>> = {
  "aws:acm/certificate:Certificate": `acm:${REGION}:${ACCOUNT}:certificate/`,
  "aws:cloudwatch/eventBus:EventBus": `events:${REGION}:${ACCOUNT}:event-bus/`,
  "aws:s3/bucket:Bucket": "s3:::",
  "aws:lambda/function:Function": `lambda:${REGION}:${ACCOUNT}:function:`,
};

/** Outputs that AWS computes for some resources. */
const answers: Readonly<Record<string, (inputs: Record<string, unknown>) => object>> = {
  "aws:acm/certificate:Certificate": ({ domainName }) => ({
    domainValidationOptions: [
      { domainName, resourceRecordName: `_check.${domainName}.`, resourceRecordType: "CNAME", resourceRecordValue: "_answer." },
    ],
  }),
  "aws:apigatewayv2/domainName:DomainName": ({ domainNameConfiguration }) => ({
    domainNameConfiguration: {
      ...(domainNameConfiguration as object),
      targetDomainName: `d-mock.execute-api.${REGION}.amazonaws.com`,
      hostedZoneId: "ZAPI",
    },
  }),
  "pulumi-nodejs:dynamic:Resource": () => ({ zoneId: "ZOWN" }),
};

export const mocks = {
  newResource({ type, name, inputs }: ResourceArgs) {
    const id = String(inputs.name ?? inputs.bucket ?? name);
    const service = /^aws:(\w+)\//.exec(type)?.[1] ?? "";
    return {
      id,
      state: {
        ...inputs,
        id,
        name: id,
        arn: `arn:aws:${ARNS[type] ?? `${service}:${REGION}:${ACCOUNT}:`}${id}`,
        url: `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${id}`,
        functionUrl: `https://${id}.lambda-url.${REGION}.on.aws/`,
        apiEndpoint: `https://${id}.execute-api.${REGION}.amazonaws.com`,
        executionArn: `arn:aws:execute-api:${REGION}:${ACCOUNT}:${id}`,
        dnsName: `${id}.elb.amazonaws.com`,
        base64: "AAAA",
        hex: "00",
        ...answers[type]?.(inputs),
      },
    };
  },
  call({ token, inputs }: CallArgs): Record<string, unknown> {
    if (token === "aws:index/getRegion:getRegion") return { region: REGION, name: REGION, id: REGION };
    if (token === "aws:index/getPartition:getPartition") return { partition: "aws", dnsSuffix: "amazonaws.com" };
    if (token === "aws:index/getAvailabilityZones:getAvailabilityZones")
      return { names: [`${REGION}a`, `${REGION}b`], zoneIds: ["a", "b"] };
    if (token === "aws:index/getCallerIdentity:getCallerIdentity") return { accountId: ACCOUNT };
    // The AWS provider renders policies from these statements; the tests read the statements.
    if (token === "aws:iam/getPolicyDocument:getPolicyDocument")
      return { statements: inputs.statements, json: JSON.stringify({ Statement: inputs.statements ?? [] }) };
    return inputs;
  },
};

/** Records every registration, since the mocks do not show dependencies or secret inputs. */
export function recordResources(): Resource[] {
  const resources: Resource[] = [];
  const monitor = platformRequire("@pulumi/pulumi/runtime/settings").getMonitor();
  const register = monitor.registerResource.bind(monitor);
  // oxlint-disable-next-line typescript/no-explicit-any -- Pulumi's generated protocol classes
  monitor.registerResource = (request: any, callback: (error: unknown, response: any) => void) =>
    register(request, (error: unknown, response: { getUrn(): string }) => {
      if (!error)
        resources.push({
          urn: response.getUrn(),
          type: request.getType(),
          name: request.getName(),
          dependencies: request.getDependenciesList(),
          retained: request.getRetainondelete() === true,
          inputs: request.getObject().toJavaScript(),
        });
      callback(error, response);
    });
  return resources;
}
