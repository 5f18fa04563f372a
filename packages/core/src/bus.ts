/** Something that happened on a board, as whoever subscribes outside gets it. Ids and states only, no text that people wrote. */
export interface BoardEvent {
  /** Version of this shape; fields may be added to it. */
  version: 1;
  /** The same at every repeat: delivery is at least once. */
  id: string;
  type: string;
  /** ISO 8601, UTC. */
  occurred_at: string;
  organization_id: string;
  board_id: string;
  [field: string]: unknown;
}

/** The event bus. Throws a `BusError` for an event that was not taken. */
export interface EventBus {
  publish(event: BoardEvent): Promise<void>;
}
