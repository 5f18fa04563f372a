/** Tests the policies of the deploying role: a simulator of IAM judges each call that a deployment of the rendered graph makes. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { removeFolders } from "../../proofs/install/copy.ts";
import { installInto } from "../../proofs/install/registry.ts";
import { root } from "../../support/bundle.ts";
import { type Call, callsOf } from "./deploying-calls.ts";
import { matchesOne } from "./judge.ts";
import { graphOf } from "./graph.ts";
import type { VariantName } from "./variants.ts";

const SIMULATOR = "@cloud-copilot/iam-simulate";
const VERSION = "0.1.173";
/** AWS's maximum length of a managed policy, in which white space does not count. */
const MAX_CHARACTERS = 6_144;
const TIMEOUT_MS = 60_000;
const PRINCIPAL = "arn:aws:iam::123456789012:role/deploying";
const VALUES: Readonly<Record<string, string>> = {
  account: "123456789012",
  region: "us-east-1",
  stage: "production",
  zone: "ZOWN",
};

type PolicyName = "stage" | "domain" | "bodies" | "streams";

/** The policies that the deployment of a variant needs. */
const ATTACHED = {
  production: ["stage"],
  oidc: ["stage"],
  "domain-elsewhere": ["stage", "domain"],
  domain: ["stage", "domain"],
  bodies: ["stage", "bodies"],
  container: ["stage", "domain", "streams"],
} as const satisfies Partial<Record<VariantName, readonly PolicyName[]>>;

interface Policy {
  Statement: { Action: string[]; Resource: string | string[] }[];
}

interface Simulator {
  runSimulation(
    this: void,
    simulation: object,
    options: object,
  ): Promise<{ resultType: "error"; errors: { message: string } } | { resultType: string; overallResult: string }>;
}

const folder = await installInto({ dependencies: { [SIMULATOR]: VERSION } });
const { runSimulation } = createRequire(path.join(folder, "package.json"))(SIMULATOR) as Simulator;
afterAll(removeFolders);

const textOf = (name: PolicyName) =>
  readFileSync(path.join(root, `deploy/aws/deploying-${name}.json`), "utf8").replaceAll(
    /<(\w+)>/g,
    (_whole, key: string) => VALUES[key]!,
  );
const PARTS = ["stage", "domain", "bodies", "streams"] as const satisfies readonly PolicyName[];
const policies = new Map(PARTS.map((name) => [name, JSON.parse(textOf(name)) as Policy]));
const statementsOf = (names: readonly PolicyName[]) => names.flatMap((name) => policies.get(name)!.Statement);

/** Checks whether a statement names the action and the resource, and ignores the condition of the statement. */
const isNamed = (names: readonly PolicyName[], { action, resource }: Call): boolean =>
  statementsOf(names).some(({ Action, Resource }) => Action.includes(action) && matchesOne([Resource].flat(), resource));

async function judge(names: readonly PolicyName[], { action, resource, context = {} }: Call): Promise<string> {
  // The simulator does not know the resources of HTTP APIs, for which no statement has a condition.
  if (action.startsWith("apigateway:")) return isNamed(names, { action, resource }) ? "Allowed" : "ImplicitlyDenied";
  const simulation = {
    identityPolicies: names.map((name) => ({ name, policy: policies.get(name) })),
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    request: { action, principal: PRINCIPAL, resource: { accountId: VALUES["account"], resource }, contextVariables: context },
  };
  const answer = await runSimulation(simulation, {});
  return "errors" in answer ? answer.errors.message : answer.overallResult;
}

const variants = (Object.keys(ATTACHED) as (keyof typeof ATTACHED)[]).map((variant) => ({
  names: ATTACHED[variant] as readonly PolicyName[],
  calls: callsOf(graphOf(variant).resources),
}));

test("the policies name every resource of every variant of a deployment", () => {
  const unnamed = variants.flatMap(({ names, calls }) => calls.filter((call) => !isNamed(names, call)));
  expect(unnamed).toEqual([]);
});

test(
  "the simulator allows each call of a deployment",
  async () => {
    // The simulator is slow, so it judges one resource per action and context. The test above compares all resources by name.
    const samples = variants.flatMap(({ names, calls }) =>
      calls.map((call) => {
        const { "iam:PolicyARN": policy, "iam:PassedToService": service } = call.context ?? {};
        return [[call.action, policy, service, names].join(), { names, call }] as const;
      }),
    );
    const refused: string[] = [];
    for (const { names, call } of new Map(samples).values()) {
      const verdict = await judge(names, call);
      if (verdict !== "Allowed") refused.push(`${verdict}: ${call.action} on ${call.resource}`);
    }
    expect(refused).toEqual([]);
  },
  TIMEOUT_MS,
);

test("no policy allows an action that no deployment needs", () => {
  const needed = new Set(variants.flatMap(({ calls }) => calls.map(({ action }) => action)));
  const allowed = statementsOf(PARTS).flatMap(({ Action }) => Action);
  expect([...new Set(allowed)].filter((action) => !needed.has(action))).toEqual([]);
});

test.for(PARTS)("AWS accepts the length of the policy deploying-%s", (name) => {
  expect(textOf(name).replaceAll(/\s/g, "").length).toBeLessThanOrEqual(MAX_CHARACTERS);
});

describe("what the policies refuse", () => {
  const role = "arn:aws:iam::123456789012:role/board-coordination-production-ApiBoardsFunctionRole-abc";
  const refused: Record<string, Call> = {
    "change a function of another stage": {
      action: "lambda:UpdateFunctionCode",
      resource: "arn:aws:lambda:us-east-1:123456789012:function:board-coordination-staging-ApiBoardsFunction-abc",
    },
    "create a consumer for a function of another stage": {
      action: "lambda:CreateEventSourceMapping",
      resource: "*",
      context: { "lambda:FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:board-coordination-staging-Other" },
    },
    "change a role of another stage": {
      action: "iam:PutRolePolicy",
      resource: "arn:aws:iam::123456789012:role/board-coordination-staging-ApiBoardsFunctionRole-abc",
    },
    "change its own policies": { action: "iam:PutRolePolicy", resource: PRINCIPAL },
    "give a role the rights of administrators": {
      action: "iam:AttachRolePolicy",
      resource: role,
      context: { "iam:PolicyARN": "arn:aws:iam::aws:policy/AdministratorAccess" },
    },
    "pass a role to a service that no deployment uses": {
      action: "iam:PassRole",
      resource: role,
      context: { "iam:PassedToService": "ec2.amazonaws.com" },
    },
    "create a user": { action: "iam:CreateUser", resource: "arn:aws:iam::123456789012:user/one" },
    "receive the messages of a queue": {
      action: "sqs:ReceiveMessage",
      resource: "arn:aws:sqs:us-east-1:123456789012:board-coordination-production-DeliveriesQueue-abc",
    },
    "delete the bus of another stage": {
      action: "events:DeleteEventBus",
      resource: "arn:aws:events:us-east-1:123456789012:event-bus/board-coordination-staging",
    },
    "read the stored bodies": {
      action: "s3:GetObject",
      resource: "arn:aws:s3:::board-coordination-production-webhookbodiesbucket-abc/bodies/one",
    },
    "create keys of REST APIs": { action: "apigateway:POST", resource: "arn:aws:apigateway:us-east-1::/apikeys" },
    "delete another bucket": { action: "s3:DeleteBucket", resource: "arn:aws:s3:::another" },
    "read another parameter": { action: "ssm:GetParameter", resource: "arn:aws:ssm:us-east-1:123456789012:parameter/other" },
    "change another zone": { action: "route53:ChangeResourceRecordSets", resource: "arn:aws:route53:::hostedzone/ZOTHER" },
    "create a network in another region": {
      action: "ec2:CreateVpc",
      resource: "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-1",
      context: { "aws:RequestedRegion": "eu-west-1" },
    },
  };

  test.for(Object.entries(refused))("the role may not %s", async ([, call]) => {
    expect(await judge(PARTS, call)).toBe("ImplicitlyDenied");
  });
});

test("the simulator does not allow an action that AWS does not have, or an action on a resource of another type", async () => {
  const queue = "arn:aws:sqs:us-east-1:123456789012:board-coordination-production-DeliveriesQueue-abc";
  expect(await judge(["stage"], { action: "sqs:CreateQueues", resource: queue })).not.toBe("Allowed");
  expect(await judge(["stage"], { action: "sqs:CreateQueue", resource: "arn:aws:s3:::bucket" })).not.toBe("Allowed");
});
