import { signal } from "@preact/signals";

/** Whether the form of a new task is open. */
export const isCreating = signal(false);
