/** The parts of organization_payload_bytes that one webhook may fill, so that each leaves room for others. */

/** Even a busy sender leaves half of the room to the others. */
export const SIGNED_SHARE = 1 / 2;
/**
 * Anyone who knows the address can fill this share. By default it is 128 MiB, which is enough for about 100,000 typical events.
 */
export const UNSIGNED_SHARE = 1 / 8;
/**
 * Once this much of the room is full, unsigned webhooks only replace their own payloads. So a quarter is reserved for signed
 * posts.
 */
export const UNSIGNED_ROOM = 3 / 4;
