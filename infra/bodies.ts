/** WEBHOOK_BODY_BUCKET=on keeps the bodies of old webhook payloads in a bucket instead of the database. */
const isOn = process.env.WEBHOOK_BODY_BUCKET === "on";

if (process.env.WEBHOOK_BODY_BUCKET && !["on", "off"].includes(process.env.WEBHOOK_BODY_BUCKET))
  throw new Error("WEBHOOK_BODY_BUCKET must be on or off");

/** Private, and only reached with TLS. Production keeps it when it is switched off, because bodies are in it. */
const bucket = isOn
  ? new sst.aws.Bucket("WebhookBodies", {
      // No browser reads it.
      cors: false,
      transform: { bucket: (args) => void (args.forceDestroy = $app.removal === "remove") },
    })
  : null;

if (bucket)
  new aws.s3.BucketServerSideEncryptionConfiguration("WebhookBodiesEncryption", {
    bucket: bucket.name,
    rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }],
  });

/** Moving a smaller body costs more than it saves (docs/costs.md#bodies-in-a-bucket). */
const MIN_BYTES = "16384";

/** Environment variables for all functions except the migration. */
export const bodySettings: Record<string, $util.Input<string>> = bucket
  ? {
      WEBHOOK_BODY_STORAGE: $interpolate`s3://${bucket.name}`,
      WEBHOOK_BODY_MIN_BYTES: process.env.WEBHOOK_BODY_MIN_BYTES || MIN_BYTES,
      ...(process.env.WEBHOOK_BODY_DAYS ? { WEBHOOK_BODY_DAYS: process.env.WEBHOOK_BODY_DAYS } : {}),
    }
  : {};

const allow = (...actions: string[]) =>
  bucket
    ? [
        { actions, resources: [$interpolate`${bucket.arn}/*`] },
        // Without it, S3 answers for a missing object as for a forbidden one.
        { actions: ["s3:ListBucket"], resources: [bucket.arn] },
      ]
    : [];

/** Permissions for the functions that read payloads or notify agents of them. */
export const bodyReadPermissions = allow("s3:GetObject");

/** Permissions for the scheduler, which moves bodies and deletes those of removed payloads. */
export const bodyMovePermissions = allow("s3:GetObject", "s3:PutObject", "s3:DeleteObject");

/** Schedules that are not deployed. */
export const omittedSchedules: readonly string[] = isOn ? [] : ["bodies"];
