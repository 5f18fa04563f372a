/**
 * The bus for board events. Customers create rules on it, so its name must not change. An unused bus costs nothing, so it stays
 * when BOARD_EVENTS=off stops publishing, and no rule is lost.
 */
export const eventBus = new aws.cloudwatch.EventBus(
  "Events",
  { name: `${$app.name}-${$app.stage}`, description: "Events of boards" },
  { retainOnDelete: $app.removal !== "remove" },
);

const eventsEnabled = process.env.BOARD_EVENTS !== "off";

/** Environment variables for all functions except the migration. */
export const eventSettings: Record<string, $util.Input<string>> = eventsEnabled ? { EVENT_BUS_NAME: eventBus.name } : {};

/** Permissions for the consumer of deliveries, the only function that publishes events. */
export const publishPermissions = eventsEnabled ? [{ actions: ["events:PutEvents"], resources: [eventBus.arn] }] : [];
