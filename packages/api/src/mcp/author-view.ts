import * as z from "zod";

/** Who wrote a text; null if the author was not recorded. */
export const AuthorView = z.object({ type: z.enum(["user", "agent", "system"]), id: z.string().nullable() }).nullable();
