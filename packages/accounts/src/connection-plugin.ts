import { getOAuthProviderState } from "@better-auth/oauth-provider";
import { defineRequestState } from "@better-auth/core/context";
import type { Db } from "@board/core/context/db";
import { truncate } from "@board/core/values/text";
import { MAX_IDS, MAX_NAME, oneLine } from "@board/core/values/wire";
import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { and, eq, isNotNull, isNull } from "drizzle-orm";
import * as z from "zod";
import { asApiCall } from "./api-error.ts";
import { deviceCode, oauthClient } from "./oauth-tables.sql.ts";

export interface Connection {
  name: string;
  access: "read" | "write";
  board_ids: string[] | null;
}

/** What the service does when a person connects a program. */
export interface Connections {
  /** Creates the key with which the program acts, and returns its id. Throws a `DomainError` if the account may not. */
  create(account_id: string, connection: Connection): Promise<string>;
}

/** What the person chose on the consent page. The library ignores these fields. */
const Choice = z.object({
  access: z.enum(["read", "write"]).default("write"),
  board_ids: z.array(z.guid()).min(1).max(MAX_IDS).nullable().default(null),
});

interface Agreed extends z.infer<typeof Choice> {
  key_id: string | null;
}

const agreed = defineRequestState<Agreed | null>(() => null);

const parseChoice = (body: unknown): z.infer<typeof Choice> => {
  const { data } = Choice.safeParse(body ?? {});
  if (!data) throw new APIError("BAD_REQUEST", { message: "access or board_ids is not valid." });
  return data;
};

/** No key has this id. */
const NO_KEY = "00000000-0000-0000-0000-000000000000";

/**
 * Returns the API key for the tokens of an authorization. Without consent in this request, it returns a key that does not exist, so
 * that the library asks the person. Otherwise a program could pretend to be another one, to which the person agreed earlier.
 */
export async function keyOfConsent(db: Db, connections: Connections, account_id: unknown, scopes: string[]): Promise<string> {
  const chosen = await agreed.get();
  if (!chosen) return NO_KEY;
  const client_id = new URLSearchParams((await getOAuthProviderState())?.query).get("client_id") ?? "";
  chosen.key_id ??= await createKey(db, connections, String(account_id), client_id, chosen, scopes);
  return chosen.key_id;
}

async function createKey(
  db: Db,
  connections: Connections,
  account_id: string,
  client_id: string,
  { access, board_ids }: z.infer<typeof Choice>,
  scopes: string[],
): Promise<string> {
  const [client] = await db.select({ name: oauthClient.name }).from(oauthClient).where(eq(oauthClient.clientId, client_id));
  const name = truncate(oneLine(client?.name || client_id), MAX_NAME) || "Program";
  const granted = access === "write" && scopes.includes("write") ? "write" : "read";
  return asApiCall(connections.create(account_id, { name, access: granted, board_ids }));
}

/** Returns the API key for the tokens of a device code, or null if nobody has approved the code. */
export async function keyOfDevice(db: Db, code: string): Promise<string | null> {
  const [row] = await db
    .select({ key_id: deviceCode.keyId, status: deviceCode.status })
    .from(deviceCode)
    .where(eq(deviceCode.deviceCode, code));
  // The person has just agreed, and the key is still being created. The program must ask again.
  if (row?.status === "approved" && row.key_id === null) throw new APIError("BAD_REQUEST", { error: "authorization_pending" });
  return row?.key_id ?? null;
}

/** Creates an API key for a program when a person agrees to connect it, on the consent page or with a device code. */
export const connection = (db: Db, connections: Connections) =>
  ({
    id: "connection",
    hooks: {
      before: [
        {
          matcher: ({ path, body }) => path === "/oauth2/consent" && (body as { accept?: unknown } | undefined)?.accept === true,
          handler: createAuthMiddleware(async (ctx) => {
            await agreed.set({ ...parseChoice(ctx.body), key_id: null });
          }),
        },
        {
          matcher: ({ path }) => path === "/device/approve",
          handler: createAuthMiddleware(async (ctx) => {
            parseChoice(ctx.body);
          }),
        },
      ],
      after: [
        {
          matcher: ({ path }) => path === "/device/approve",
          handler: createAuthMiddleware(async (ctx) => {
            if ((ctx.context.returned as { success?: boolean } | undefined)?.success !== true) return;
            const session = await getSessionFromCtx(ctx);
            const { userCode } = ctx.body as { userCode: string };
            if (session) await connectDevice(db, connections, session.user.id, userCode, parseChoice(ctx.body));
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;

async function connectDevice(
  db: Db,
  connections: Connections,
  account_id: string,
  user_code: string,
  choice: z.infer<typeof Choice>,
): Promise<void> {
  const isApproved = and(
    eq(deviceCode.userCode, user_code.replaceAll(/[^a-zA-Z0-9]/g, "").toUpperCase()),
    eq(deviceCode.userId, account_id),
    eq(deviceCode.status, "approved"),
    isNull(deviceCode.keyId),
    // The command line signs in as its person and needs no API key.
    isNotNull(deviceCode.oauthClientId),
  );
  const [row] = await db.select().from(deviceCode).where(isApproved);
  if (!row) return;
  const scopes = row.scope?.split(" ").filter(Boolean) ?? [];
  try {
    const keyId = await createKey(db, connections, account_id, row.oauthClientId!, choice, scopes);
    await db.update(deviceCode).set({ keyId }).where(isApproved);
  } catch (error) {
    // The library has marked the code as approved already. The person can approve it again, for example after revoking a key.
    await db.update(deviceCode).set({ status: "pending" }).where(isApproved);
    throw error;
  }
}
