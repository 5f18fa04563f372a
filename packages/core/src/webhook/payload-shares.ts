/** Parts of ORGANIZATION_PAYLOAD_BYTES that one webhook may fill, so that none takes the room of others. */

/** One busy sender leaves half of the room to all others. */
export const SIGNED_SHARE = 1 / 2;
/** Anybody who knows the address can fill it: by default 128 MiB, which hold 100,000 usual events. */
export const UNSIGNED_SHARE = 1 / 8;
/** Beyond this part of the whole room, unsigned webhooks only replace what they have: many of them leave a quarter to signed posts. */
export const UNSIGNED_ROOM = 3 / 4;
