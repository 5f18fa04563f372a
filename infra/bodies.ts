/** WEBHOOK_BODY_BUCKET=on keeps the bodies of old webhook payloads, and the files of tasks, in a bucket. */
const isOn = process.env.WEBHOOK_BODY_BUCKET === "on";

if (process.env.WEBHOOK_BODY_BUCKET && !["on", "off"].includes(process.env.WEBHOOK_BODY_BUCKET))
  throw new Error("WEBHOOK_BODY_BUCKET must be on or off");

/**
 * The bucket is private and reached only over TLS. Production keeps it when the setting is switched off, because it contains
 * bodies.
 */
const bucket = isOn
  ? new sst.aws.Bucket("WebhookBodies", {
      // Browsers upload and download files of tasks at presigned URLs, from the pages of any origin.
      cors: { allowMethods: ["GET", "PUT"], allowOrigins: ["*"], exposeHeaders: ["Content-Range", "ETag"] },
      transform: { bucket: (args) => void (args.forceDestroy = $app.removal === "remove") },
    })
  : null;

if (bucket)
  new aws.s3.BucketServerSideEncryptionConfiguration("WebhookBodiesEncryption", {
    bucket: bucket.name,
    rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }],
  });

/** Environment variables for all functions except the migration. */
export const bodySettings: Record<string, $util.Input<string>> = bucket
  ? {
      WEBHOOK_BODY_STORAGE: $interpolate`s3://${bucket.name}`,
      ...(process.env.WEBHOOK_BODY_DAYS ? { WEBHOOK_BODY_DAYS: process.env.WEBHOOK_BODY_DAYS } : {}),
    }
  : {};

const allow = (...actions: string[]) =>
  bucket
    ? [
        { actions, resources: [$interpolate`${bucket.arn}/*`] },
        // Without this permission, S3 answers 403 for a missing object.
        { actions: ["s3:ListBucket"], resources: [bucket.arn] },
      ]
    : [];

/** Permissions for functions that read payloads or notify agents of payloads. */
export const bodyReadPermissions = allow("s3:GetObject");

/** Permissions for the function that stores files of tasks. A presigned URL permits no more than the function that signed it. */
export const filePermissions = allow("s3:GetObject", "s3:PutObject");

/** Permissions for the scheduler, which moves bodies and deletes the bodies of removed payloads. */
export const bodyMovePermissions = allow("s3:GetObject", "s3:PutObject", "s3:DeleteObject");

/** Schedules that are not deployed. */
export const omittedSchedules: readonly string[] = isOn ? [] : ["bodies"];
