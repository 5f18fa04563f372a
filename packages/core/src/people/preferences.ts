import { eq } from "drizzle-orm";
import * as z from "zod";
import { ALERT_TYPES, type AlertType } from "../context/alert.ts";
import type { User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { lockUser } from "../organization/lock.ts";
import { CHANNEL_TYPES, type ChannelType } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notification_preferences } from "../schema/people.sql.ts";
import { lazyObject, valueError } from "../values/wire.ts";
import { isBetween, isTimeZone, nextTimeOfDay } from "./local-time.ts";

const CHOICES = ["now", "digest", "off"] as const;
type Choice = (typeof CHOICES)[number];

const MAX_ZONE = 64;
const DEFAULT_DIGEST = "08:00";

const TimeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, valueError("time must be from 00:00 to 23:59"));
const choice = (type: AlertType, channel: ChannelType) =>
  z.enum(CHOICES).describe(`How a person is notified of \`${type}\` by ${channel}.`);

/**
 * Builds the schema of the choices for all types and channels. If `wrap` makes schemas optional, the result is the schema of a
 * request.
 */
const choicesOf = <Wrapped extends z.ZodType>(wrap: (schema: z.ZodType) => Wrapped) =>
  z.object(
    Object.fromEntries(
      ALERT_TYPES.map((type) => [
        type,
        wrap(z.object(Object.fromEntries(CHANNEL_TYPES.map((channel) => [channel, wrap(choice(type, channel))])))).describe(
          `How a person is notified of \`${type}\`, by channel.`,
        ),
      ]),
    ),
  );

const QuietHours = lazyObject(() => ({
  from: z.string().describe("When they begin, such as `22:00`."),
  until: z.string().describe("When they end; on the next day if it is earlier."),
})).meta({ id: "QuietHours", description: "Hours in which a person is not disturbed." });

const SentQuietHours = lazyObject(() => ({
  from: TimeOfDay.describe("When they begin."),
  until: TimeOfDay.describe("When they end; on the next day if it is earlier."),
}));

const QUIET = "No channel is used in these hours; what waits is sent when they end.";

const Times = lazyObject(() => ({
  digest_time: TimeOfDay.describe("When the notifications that were chosen for the digest are sent, in one message."),
  time_zone: z
    .string()
    .max(MAX_ZONE)
    .refine(isTimeZone, valueError("time_zone must be the name of a time zone"))
    .describe("Zone of these times, such as `Europe/Berlin`."),
}));

type Choices = Record<AlertType, Record<ChannelType, Choice>>;

export const NotificationPreferences = lazyObject(() => ({
  choices: choicesOf((schema) => schema).describe("By type and channel: at once, in the digest, or not at all."),
  quiet_hours: QuietHours.nullable().describe(QUIET),
  ...Times.shape,
})).meta({ id: "NotificationPreferences", description: "How a person wants to be notified." });
export type NotificationPreferences = Omit<z.infer<typeof NotificationPreferences>, "choices"> & { choices: Choices };

export const UpdatePreferences = lazyObject(() => ({
  choices: choicesOf((schema) => schema.optional())
    .optional()
    .describe("What changes, by type and channel."),
  quiet_hours: SentQuietHours.nullable().optional().describe(QUIET),
  ...Times.partial().shape,
})).meta({ id: "NotificationPreferencesUpdate" });
export type UpdatePreferences = z.infer<typeof UpdatePreferences>;

/** Requests to decide are sent at once by default, because somebody waits for the decision. */
const defaultChoice = (type: AlertType): Choice =>
  type === "approval.requested" || type === "question.asked" ? "now" : "digest";

type Row = typeof notification_preferences.$inferSelect;
type Stored = Pick<Row, "choices" | "quiet_from" | "quiet_until" | "digest_time" | "time_zone">;

export function toPreferences(row: Stored | null, zone: string | null): NotificationPreferences {
  const choices = Object.fromEntries(
    ALERT_TYPES.map((type) => [
      type,
      Object.fromEntries(CHANNEL_TYPES.map((channel) => [channel, row?.choices[type]?.[channel] ?? defaultChoice(type)])),
    ]),
  ) as Choices;
  const { quiet_from: from = null, quiet_until: until = null } = row ?? {};
  return {
    choices,
    quiet_hours: from === null || until === null ? null : { from, until },
    digest_time: row?.digest_time ?? DEFAULT_DIGEST,
    time_zone: row?.time_zone ?? (zone !== null && isTimeZone(zone) ? zone : "UTC"),
  };
}

export const getPreferences = async (ctx: Context<User>): Promise<NotificationPreferences> => {
  const { row, zone } = await readRow(ctx);
  return toPreferences(row, zone);
};

async function readRow(ctx: Context<User>) {
  const [found] = await ctx.db
    .select({ row: notification_preferences, zone: users.timezone })
    .from(users)
    .leftJoin(notification_preferences, eq(notification_preferences.user_id, users.id))
    .where(eq(users.id, ctx.actor.user_id));
  return { row: found?.row ?? null, zone: found?.zone ?? null };
}

/** Changes the preferences that were sent and keeps the others. The lock keeps a concurrent change from being overwritten. */
export const updatePreferences = (ctx: Context<User>, input: UpdatePreferences): Promise<NotificationPreferences> =>
  transaction(ctx, async (ctx) => {
    await lockUser(ctx, ctx.actor.user_id);
    return storePreferences(ctx, input);
  });

async function storePreferences(ctx: Context<User>, input: UpdatePreferences): Promise<NotificationPreferences> {
  const { row, zone } = await readRow(ctx);
  const before = toPreferences(row, zone);
  const changed = (input.choices ?? {}) as Partial<Record<string, Partial<Record<string, Choice>>>>;
  const choices = { ...row?.choices };
  for (const [type, channels] of Object.entries(changed)) choices[type] = { ...choices[type], ...withoutUndefined(channels) };
  const quiet = input.quiet_hours === undefined ? before.quiet_hours : input.quiet_hours;
  const values = {
    choices,
    quiet_from: quiet?.from ?? null,
    quiet_until: quiet?.until ?? null,
    digest_time: input.digest_time ?? before.digest_time,
    time_zone: input.time_zone ?? before.time_zone,
  };
  await ctx.db
    .insert(notification_preferences)
    .values({ user_id: ctx.actor.user_id, ...values })
    .onConflictDoUpdate({ target: notification_preferences.user_id, set: values });
  return toPreferences(values, zone);
}

const withoutUndefined = (channels: Partial<Record<string, Choice>> = {}): Record<string, Choice> =>
  Object.fromEntries(Object.entries(channels).filter((entry): entry is [string, Choice] => entry[1] !== undefined));

/**
 * Returns when to notify a person through a channel, or null if the person is not to be notified there. If the returned time is
 * in the quiet hours, the message is postponed when it would be sent.
 */
export function whenToTell(
  now: Date,
  { choices, digest_time, time_zone }: NotificationPreferences,
  type: AlertType,
  channel: ChannelType,
): { due_at: Date; is_digest: boolean } | null {
  const choice = choices[type][channel];
  if (choice === "off") return null;
  if (choice === "digest") return { due_at: nextTimeOfDay(now, digest_time, time_zone), is_digest: true };
  return { due_at: now, is_digest: false };
}

/** Returns when the quiet hours of a person end, or null if it is not quiet now. */
export function quietUntil(now: Date, { quiet_hours: quiet, time_zone }: NotificationPreferences): Date | null {
  const isQuiet = quiet !== null && isBetween(now, quiet.from, quiet.until, time_zone);
  return isQuiet ? nextTimeOfDay(now, quiet.until, time_zone) : null;
}
