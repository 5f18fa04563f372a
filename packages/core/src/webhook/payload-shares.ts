/** The parts of organization_payload_bytes that one webhook may fill, so that each leaves room for others. */

/** A busy sender leaves at least half of the room to the others. */
export const SIGNED_SHARE = 1 / 2;
/** Anyone who knows the address can fill this share. It is 128 MiB by default, enough for about 100,000 typical events. */
export const UNSIGNED_SHARE = 1 / 8;
/** When this part of the room is full, unsigned webhooks only replace their own payloads. So a quarter stays for signed posts. */
export const UNSIGNED_ROOM = 3 / 4;
