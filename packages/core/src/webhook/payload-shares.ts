/** The parts of organization_payload_bytes that one webhook may fill, so that each webhook leaves room for others. */

/** A webhook with a secret may fill this share, so that even a busy sender leaves half of the room to others. */
export const SIGNED_SHARE = 1 / 2;
/**
 * A webhook without a secret may fill this share, because anyone who knows its address can post. By default it is 128 MiB, which is
 * enough for about 100,000 typical events.
 */
export const UNSIGNED_SHARE = 1 / 8;
/**
 * Once this part of the room is full, webhooks without a secret only replace their own payloads. So a quarter is reserved for
 * signed posts.
 */
export const UNSIGNED_ROOM = 3 / 4;
