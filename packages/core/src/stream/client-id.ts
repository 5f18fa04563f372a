import * as z from "zod";

const MAX_CLIENT_ID = 64;

/** The query parameter `client_id` of a stream. */
export const ClientId = z
  .string()
  .min(1)
  .max(MAX_CLIENT_ID)
  .regex(/^[\w-]+$/)
  .optional()
  .describe(
    "Any name of this client, such as one random id per browser tab. When the client opens another stream of the same rows, its previous one ends at once. Without the name, a stream whose client was lost may stay open for a while.",
  );
