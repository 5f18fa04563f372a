import * as z from "zod";

const MAX_CLIENT_ID = 64;

/** The `client_id` parameter of a stream. */
export const ClientId = z
  .string()
  .min(1)
  .max(MAX_CLIENT_ID)
  .regex(/^[\w-]+$/)
  .optional()
  .describe(
    "Any name of this client, such as one random id per browser tab. Its next stream of the same rows ends the one before at once, instead of leaving it open where a lost client is not noticed.",
  );
