import { bigint, boolean, index, integer, pgSchema, text, timestamp, unique } from "drizzle-orm/pg-core";

/*
 * The tables of better-auth, in a separate schema. Only the library writes them, and it knows their columns by the names of these
 * properties, so they are spelled as in its documentation. The tables of its OAuth provider are in oauth-tables.sql.ts.
 */
export const accounts = pgSchema("accounts");

export const time = (column: string) => timestamp(column, { withTimezone: true, precision: 3, mode: "date" });
export const id = { id: text().primaryKey() };
const times = () => ({
  createdAt: time("created_at").notNull().defaultNow(),
  updatedAt: time("updated_at").notNull().defaultNow(),
});

/** A person's account. `issuer` and `subject` identify the user of the service to whom the account belongs. */
export const user = accounts.table(
  "user",
  {
    ...id,
    name: text().notNull(),
    email: text().notNull().unique(),
    emailVerified: boolean("email_verified").notNull().default(false),
    image: text(),
    issuer: text().notNull(),
    subject: text().notNull(),
    ...times(),
  },
  (t) => [unique("user_identity").on(t.issuer, t.subject)],
);

const ofUser = () =>
  text("user_id")
    .notNull()
    .references(() => user.id, { onDelete: "cascade" });

export const session = accounts.table(
  "session",
  {
    ...id,
    expiresAt: time("expires_at").notNull(),
    token: text().notNull().unique(),
    ipAddress: text("ip_address"),
    userAgent: text("user_agent"),
    userId: ofUser(),
    ...times(),
  },
  (t) => [index("session_by_user").on(t.userId)],
);

/** A way to sign in: a password, or an account at another service. */
export const account = accounts.table(
  "account",
  {
    ...id,
    accountId: text("account_id").notNull(),
    providerId: text("provider_id").notNull(),
    userId: ofUser(),
    accessToken: text("access_token"),
    refreshToken: text("refresh_token"),
    idToken: text("id_token"),
    accessTokenExpiresAt: time("access_token_expires_at"),
    refreshTokenExpiresAt: time("refresh_token_expires_at"),
    scope: text(),
    password: text(),
    ...times(),
  },
  (t) => [index("account_by_user").on(t.userId)],
);

/** Values that are used once: links, the challenges of passkeys, and the state of a sign-in at another service. */
export const verification = accounts.table(
  "verification",
  { ...id, identifier: text().notNull(), value: text().notNull(), expiresAt: time("expires_at").notNull(), ...times() },
  (t) => [index("verification_by_identifier").on(t.identifier)],
);

export const passkey = accounts.table(
  "passkey",
  {
    ...id,
    name: text(),
    publicKey: text("public_key").notNull(),
    userId: ofUser(),
    credentialID: text("credential_id").notNull(),
    counter: integer().notNull(),
    deviceType: text("device_type").notNull(),
    backedUp: boolean("backed_up").notNull(),
    transports: text(),
    aaguid: text(),
    createdAt: time("created_at").defaultNow(),
  },
  (t) => [index("passkey_by_user").on(t.userId), index("passkey_by_credential").on(t.credentialID)],
);

export const rateLimit = accounts.table("rate_limit", {
  ...id,
  key: text().notNull().unique(),
  count: integer().notNull(),
  lastRequest: bigint("last_request", { mode: "number" }).notNull(),
});
