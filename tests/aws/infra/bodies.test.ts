/** The bucket for bodies of old webhook payloads, which is an option. */
import { type ApiGroup, groups, schedules } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { capitalized, type Graph, graphOf, sorted } from "./graph.ts";

const graph = graphOf("bodies");
const production = graphOf("production");
const bucketsOf = ({ all }: Graph) => all("aws:s3/bucket:Bucket");
const [bucket] = bucketsOf(graph);
const running = ({ functions }: Graph) => functions().filter(({ name }) => name !== "MigrateFunction");
const schedulesOf = ({ all }: Graph) =>
  all("aws:scheduler/schedule:Schedule").map(({ inputs }) => JSON.parse(inputs.target.input).schedule as string);
const allowedTo = (action: string) => graph.allowed().filter(({ actions }) => actions.includes(action));

test("without WEBHOOK_BODY_BUCKET there is no bucket, no schedule of bodies, and no permission for S3", () => {
  expect(bucketsOf(production)).toEqual([]);
  expect(schedulesOf(production)).not.toContain("bodies");
  expect(production.allowed().filter(({ actions }) => actions.some((action) => action.startsWith("s3:")))).toEqual([]);
  for (const fn of running(production)) expect(production.variablesOf(fn)).not.toHaveProperty("WEBHOOK_BODY_STORAGE");
});

test("the bucket is private and encrypted, allows GET and PUT from web pages, refuses connections without TLS, and is retained in production", () => {
  expect(bucketsOf(graph)).toHaveLength(1);
  expect([bucket?.retained, bucket?.inputs.forceDestroy ?? false]).toEqual([true, false]);
  const [access] = graph.all("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock");
  expect(access?.inputs).toMatchObject({
    blockPublicAcls: true,
    blockPublicPolicy: true,
    ignorePublicAcls: true,
    restrictPublicBuckets: true,
  });
  const [encryption] = graph.all("aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration");
  expect(JSON.stringify(encryption?.inputs.rules)).toContain("AES256");
  const [cors] = graph.all("aws:s3/bucketCorsConfiguration:BucketCorsConfiguration");
  expect(cors?.inputs.corsRules).toMatchObject([{ allowedMethods: ["GET", "PUT"] }]);
  const [policy] = graph.all("aws:s3/bucketPolicy:BucketPolicy");
  expect(policy?.inputs.policy).toContain("aws:SecureTransport");
  expect(graph.all("aws:s3/bucketVersioning:BucketVersioning")).toEqual([]);
});

test("every function of the domain gets the name of the bucket and the number of days after which bodies move to it", () => {
  for (const fn of running(graph))
    expect(graph.variablesOf(fn)).toMatchObject({
      WEBHOOK_BODY_STORAGE: `s3://${bucket?.inputs.bucket ?? bucket?.name}`,
      WEBHOOK_BODY_DAYS: "14",
    });
});

test("each function may delete, write or read objects of the bucket only if its work with payloads or files needs it", () => {
  expect(graph.functionsWith(allowedTo("s3:DeleteObject"))).toEqual(["ScheduledFunction"]);
  expect(sorted(graph.functionsWith(allowedTo("s3:PutObject")))).toEqual(["ApiArtifactsFunction", "ScheduledFunction"]);
  const readers = Object.entries<ApiGroup>(groups).flatMap(([name, { reads_bodies, stores_files }]) =>
    reads_bodies || stores_files ? [`Api${capitalized(name)}Function`] : [],
  );
  const consumer = graph.consumersOf("Deliveries").map(({ name }) => name);
  const expected = sorted([...readers, ...consumer, "ScheduledFunction"]);
  expect(sorted(graph.functionsWith(allowedTo("s3:GetObject")))).toEqual(expected);
  expect(sorted(graph.functionsWith(allowedTo("s3:ListBucket")))).toEqual(expected);
});

test("permissions for S3 cover this bucket and its objects, and nothing else", () => {
  const statements = graph.allowed().filter(({ actions }) => actions.some((action) => action.startsWith("s3:")));
  const name = bucket?.inputs.bucket ?? bucket?.name;
  for (const { actions, resources } of statements) {
    expect(actions.join()).not.toContain("*");
    const objects = actions.includes("s3:ListBucket") ? "" : "/*";
    expect(resources).toEqual([expect.stringMatching(new RegExp(`^arn:aws:s3:::${name}${objects.replace("*", "\\*")}$`))]);
  }
});

test("every schedule is deployed when there is a bucket", () => {
  expect(sorted(schedulesOf(graph))).toEqual(sorted(Object.keys(schedules)));
});
